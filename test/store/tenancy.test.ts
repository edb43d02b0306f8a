import { type RawBuilder, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { importSims } from '../../service/sims/import-sims.ts'
import { partitionsFor } from '../../service/usage/rows/partitions.ts'
import { keyName } from '../../store/key-name.ts'
import { type Db, inPlatform, inTenant, type TenantTx } from '../../store/tenancy.ts'
import { aStore, aTenant } from '../setup/estate.ts'

const store = await aStore(new Date().toISOString(), { counted: false })
const { db } = store
const [ours, theirs] = [await aTenant(store), await aTenant(store)]
await partitionsFor(store, [store.now])
await inTenant(store, ours, (tx) => importSims(tx, [{ iccid: '894450010200000001' }]))
await inTenant(store, theirs, (tx) => importSims(tx, [{ iccid: '894450010200000002' }]))

const RLS_REFUSED = /row-level security/

const VALUES: Readonly<Record<string, RawBuilder<unknown>>> = {
  'shadow_log.does': sql`'mail'`,
  'bulk_items.outcome': sql`'waiting'`,
  'bulk_runs.type': sql`'refresh'`,
  'orders.quantity': sql`2`,
  'orders.unit_price': sql`3`,
  'orders.total': sql`6`,
  'guard_counts.what': sql`'alerts'`,
  'guard_permits.state': sql`'granted'`,
  'month_end_changes.kind': sql`'move'`,
  'month_end_changes.outcome': sql`'open'`,
  'addresses.kind': sql`'copy'`,
  'kept_answers.kind': sql`'cost'`,
  'mail_attempts.outcome': sql`'later'`,
  'deliveries.mail_id': sql`gen_random_uuid()::text`,
  'deliveries.recipient': sql`'billing@meadow.example'`,
  'deliveries.kind': sql`'cause'`,
  'suspensions.cause': sql`'user'`,
  'statements.kind': sql`'sim'`,
  text: sql`gen_random_uuid()::text`,
  uuid: sql`gen_random_uuid()`,
  jsonb: sql`'{}'`,
  ARRAY: sql`'{}'`,
  boolean: sql`false`,
  'timestamp with time zone': sql`now()`,
  smallint: sql`1`,
  integer: sql`floor(random() * 1e9)`,
  bigint: sql`floor(random() * 1e9)`,
}

/** Inserts a row of a tenant with the required columns, and those of `VALUES`. */
async function writeRow(q: Db | TenantTx['q'], table: string, tenant: string): Promise<void> {
  const { rows } = await sql<{ name: string; type: string }>`
    select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'public' and table_name = ${table} and column_name <> 'tenant_id'
       and (is_nullable = 'NO' or table_name || '.' || column_name = any(${Object.keys(VALUES)}::text[]))
       and column_default is null and is_identity = 'NO'`.execute(db)
  const values = rows.map(({ name, type }) => VALUES[`${table}.${name}`] ?? VALUES[type] ?? sql`null`)
  await sql`
    insert into ${sql.table(table)} (${sql.join(['tenant_id', ...rows.map(({ name }) => name)].map((name) => sql.ref(name)))})
    values (${sql.join([tenant, ...values])})`.execute(q)
}

/** Inserts a row of each tenant, without checking references: what matters here is who may see it. */
const fill = (table: string) =>
  db.transaction().execute(async (q) => {
    await sql`set local session_replication_role = replica`.execute(q)
    for (const tenant of [ours, theirs]) {
      const { rows } = await sql`select 1 from ${sql.table(table)} where tenant_id = ${tenant}`.execute(q)
      if (rows.length === 0) await writeRow(q, table, tenant)
    }
  })

describe('row-level security', () => {
  test('shows a search its own rows, whoever else has such a SIM', async () => {
    const search = (tx: TenantTx, pattern: string) =>
      sql<{ iccid: string }>`
        select s.iccid from search_sims(${pattern}, null, null, null, null, false) as found(id)
          left join sims s on s.id = found.id`.execute(tx.q)

    for (const pattern of ['%894450010200000%', '%', '%2', "%' or true or iccid like '%", '%\n%', '%0000000%\n%']) {
      const { rows } = await inTenant(store, ours, (tx) => search(tx, pattern))
      expect([pattern, rows.filter(({ iccid }) => iccid !== '894450010200000001')]).toEqual([pattern, []])
    }
    expect((await inTenant(store, ours, (tx) => search(tx, '%894450010200000%'))).rows).toHaveLength(1)
  })

  test.each([
    ['without a tenant', null],
    ['with an empty one', ''],
    ['with one nobody has', 'nobody'],
  ])('shows no row to a search %s', async (_how, tenant) => {
    const found = await db.transaction().execute(async (q) => {
      await sql`set local role simherd_tenant`.execute(q)
      if (tenant !== null) await sql`select set_config('app.tenant', ${tenant}, true)`.execute(q)
      return (await sql`select * from search_sims('%8944%', null, null, null, null, false)`.execute(q)).rows
    })

    expect(found).toEqual([])
  })

  test('is not got around by what a search finds by name', async () => {
    // Whoever may make a table or an operator of the same name must not be asked instead.
    const found = await inTenant(store, ours, async (tx) => {
      await sql`set local search_path = pg_temp, public`.execute(tx.q)
      return (await sql`select * from search_sims('%8944%', null, null, null, null, false)`.execute(tx.q)).rows
    })
    const { rows } = await sql`
      select p.proowner::regrole::text as owner, p.prosecdef as "asOwner", p.proconfig as config, r.rolcanlogin as login
        from pg_proc p join pg_roles r on r.oid = p.proowner where p.proname = 'search_sims'`.execute(db)

    expect(found).toHaveLength(1)
    expect(rows).toEqual([
      { owner: 'simherd_search', asOwner: true, config: ['search_path=pg_catalog, pg_temp'], login: false },
    ])
  })

  const SEARCHES = ["search_sims('%', null, null, null, null, false)", "named_from('', 1)"]
  test.each(['simherd_platform', 'pg_monitor'].flatMap((role) => SEARCHES.map((of) => [role, of] as const)))(
    'denies to %s: %s',
    async (role, of) => {
      const search = db.transaction().execute(async (q) => {
        await sql`select set_config('role', ${role}, true), set_config('app.tenant', ${ours}, true)`.execute(q)
        await sql`select * from ${sql.raw(of)}`.execute(q)
      })

      await expect(search).rejects.toThrow(/permission denied/)
    },
  )

  test('lets the role of the search read the columns of the search only', async () => {
    const { rows } = await sql<{ name: string; type: string; columns: string[] }>`
      select table_name as name, privilege_type as type, array_agg(column_name::text order by column_name) as columns
        from information_schema.role_column_grants where grantee = 'simherd_search' group by 1, 2 order by 1`.execute(
      db,
    )

    expect(rows).toEqual([
      { name: 'pools', type: 'SELECT', columns: ['deleted_at', 'id', 'name', 'tenant_id'] },
      {
        name: 'sims',
        type: 'SELECT',
        columns: ['iccid', 'id', 'imsi', 'msisdn', 'pool_id', 'status', 'tag', 'tenant_id'],
      },
    ])
  })

  test('refuses to move a row to another tenant', async () => {
    const move = inTenant(store, ours, (tx) => sql`update sims set tenant_id = ${theirs}`.execute(tx.q))

    await expect(move).rejects.toThrow(RLS_REFUSED)
  })

  test("hides another tenant's rows from update and delete", async () => {
    const changed = await inTenant(store, ours, async (tx) => [
      (await sql`update sims set tag = 'x' where iccid = '894450010200000002'`.execute(tx.q)).numAffectedRows,
      (await sql`delete from sims where iccid = '894450010200000002'`.execute(tx.q)).numAffectedRows,
    ])

    expect(changed).toEqual([0n, 0n])
  })

  test('refuses a platform event from a tenant', async () => {
    const event = inTenant(store, ours, (tx) =>
      sql`insert into events (tenant_id, type, severity, title, description, at) values (null, 2, 0, '', '', now())`.execute(
        tx.q,
      ),
    )

    await expect(event).rejects.toThrow(RLS_REFUSED)
  })

  test.each([
    ['the platform', '1 from sims'],
    // It reads instants and states only.
    ['the platform', 'body from notifications'],
    ['the platform', 'subject from deliveries'],
    ['the platform', 'response from deliveries'],
    ['the platform', 'rule from guard_holds'],
    ['tenants', '1 from operator_mails'],
    ['tenants', '1 from sign_in_mails'],
    ['tenants', 'scopes from api_keys'],
    ['tenants', 'secret_hash from api_keys'],
    ['tenants', '1 from backtests'],
  ])('denies %s: select %s', async (who, what) => {
    const read = (tx: Pick<TenantTx, 'q'>) => sql`select ${sql.raw(what)}`.execute(tx.q)

    await expect(who === 'tenants' ? inTenant(store, ours, read) : inPlatform(store, read)).rejects.toThrow(
      /permission denied/,
    )
  })

  test('shows names of keys of the tenant and the platform', async () => {
    const keys = { 'key-ours': ours, 'key-theirs': theirs, 'key-platform': null }
    for (const [id, tenant] of Object.entries(keys)) {
      await sql`insert into api_keys (id, tenant_id, name, scopes, secret_hash, created_at)
                values (${id}, ${tenant}, ${`name of ${id}`}, '{}', '', now())`.execute(db)
    }
    const name = (id: string) => keyName(sql`${`key:${id}`}::text`)
    const { rows } = await inTenant(store, ours, (tx) =>
      sql`select ${name('key-ours')} as ours, ${name('key-theirs')} as theirs, ${name('key-platform')} as platform,
                 ${keyName(sql`'service:worker'`)} as none`.execute(tx.q),
    )

    expect(rows).toEqual([{ ours: 'name of key-ours', theirs: null, platform: 'name of key-platform', none: null }])
  })

  test('forgets the tenant after its transaction', async () => {
    await inTenant(store, ours, (tx) => sql`select 1`.execute(tx.q))

    const { rows } = await sql<{ tenant: string | null }>`
      select nullif(current_setting('app.tenant', true), '') as tenant`.execute(db)
    expect(rows[0]?.tenant).toBeNull()
  })

  test.each([
    [
      'on every table with a tenant, and forced',
      sql`
        select c.relname from pg_class c
          join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
         where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
           and not (c.relrowsecurity and c.relforcerowsecurity) and not c.relispartition`,
    ],
    [
      'not got around by direct access to partitions',
      sql`
        select g.grantee, c.relname from pg_class c
          join information_schema.role_table_grants g on g.table_schema = 'public' and g.table_name = c.relname
         where c.relispartition and g.grantee in ('simherd_tenant', 'simherd_platform', 'PUBLIC')`,
    ],
    [
      'applied to every view through security_invoker',
      sql`
        select relname from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('v', 'm')
           and not coalesce(reloptions @> array['security_invoker=true'], false)`,
    ],
    [
      'no index condition, which would read all rows of a tenant that statistics do not know',
      sql`
        select tablename || ': ' || qual as policy from pg_policies
         where schemaname = 'public' and qual ~ 'tenant_id = ' and qual !~ '^\\s*CASE'`,
    ],
  ])('is %s', async (_, exceptions) => {
    expect((await exceptions.execute(db)).rows).toEqual([])
  })
})

const { rows: withTenant } = await sql<{ name: string }>`
  select c.relname as name from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
   where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   order by c.relname`.execute(db)
/** The tables that a tenant's own work may use: all that say whose a row is, but for two of the platform. */
const TENANT_TABLES = withTenant.map(({ name }) => name).filter((name) => !['api_keys', 'backtests'].includes(name))

describe('each table of tenants', () => {
  /** Rights of a role on the tables and views of the service. */
  const rightsOf = async (role: string) => {
    const { rows } = await sql<{ name: string; rights: string }>`
      select table_name as name, string_agg(lower(privilege_type), ' ' order by privilege_type) as rights
        from information_schema.role_table_grants
       where table_schema = 'public' and grantee = ${role} group by table_name order by table_name`.execute(db)
    return Object.fromEntries(rows.map(({ name, rights }) => [name, rights]))
  }

  test('is found', () => {
    expect(TENANT_TABLES).toEqual(expect.arrayContaining(['sims', 'pools', 'usage_records', 'statements', 'audit_log']))
    expect(TENANT_TABLES.length).toBeGreaterThan(50)
  })

  test.each(TENANT_TABLES)("shows only its tenant's rows: %s", async (table) => {
    await fill(table)
    const seen = (tenant: string | null) =>
      db.transaction().execute(async (q) => {
        await sql`set local role simherd_tenant`.execute(q)
        if (tenant !== null) await sql`select set_config('app.tenant', ${tenant}, true)`.execute(q)
        const { rows } = await sql<{ tenant: string }>`
          select distinct tenant_id as tenant from ${sql.table(table)} where tenant_id is not null`.execute(q)
        return rows.map((row) => row.tenant)
      })

    expect(await seen(null)).toEqual([])
    expect(await seen('')).toEqual([])
    expect(await seen('nobody')).toEqual([])
    expect(await seen(theirs)).toEqual([theirs])
    expect(await seen(ours)).toEqual([ours])
  })

  test.each(TENANT_TABLES)('refuses rows for another tenant: %s', async (table) => {
    const write = inTenant(store, ours, (tx) => writeRow(tx.q, table, theirs))

    await expect(write).rejects.toThrow(RLS_REFUSED)
  })

  test("points at no other tenant's rows", async () => {
    const { rows } = await sql<{ reference: string }>`
      select c.conrelid::regclass || ' ' || pg_get_constraintdef(c.oid) as reference
        from pg_constraint c
        join pg_attribute tenant on tenant.attrelid = c.confrelid and tenant.attname = 'tenant_id'
       where c.contype = 'f' and c.conparentid = 0
         and not (tenant.attnum = any(c.confkey)
                  and exists (select from pg_attribute a
                               where a.attrelid = c.conrelid and a.attname = 'tenant_id' and a.attnum = any(c.conkey)))
       order by 1`.execute(db)

    // Rows of the platform belong to no tenant.
    expect(rows.map(({ reference }) => reference)).toEqual([
      'api_keys FOREIGN KEY (replaced_by) REFERENCES api_keys(id)',
      'pools FOREIGN KEY (tariff_id) REFERENCES tariffs(id)',
      'sessions FOREIGN KEY (key_id) REFERENCES api_keys(id)',
      'sign_in_mails FOREIGN KEY (key_id) REFERENCES api_keys(id)',
      'sims FOREIGN KEY (pending_tariff_id) REFERENCES tariffs(id)',
      'sims FOREIGN KEY (tariff_id) REFERENCES tariffs(id)',
    ])
    const { rows: unchecked } =
      await sql`select conname from pg_constraint where contype = 'f' and not convalidated`.execute(db)
    expect(unchecked).toEqual([])
  })

  test('refuses a foreign reference even from the superuser', async () => {
    const write = db.transaction().execute(async (q) => {
      await writeRow(q, 'orders', theirs)
      await sql`update sims set order_id = (select min(id) from orders where tenant_id = ${theirs}) where tenant_id = ${ours}`.execute(
        q,
      )
    })

    await expect(write).rejects.toThrow('sims_order_id_tenant')
  })

  test('grants the platform only the listed rights', async () => {
    expect(await rightsOf('simherd_platform')).toEqual({
      api_keys: 'insert select update',
      audit_log: 'insert select',
      backtests: 'delete insert select update',
      bulk_work: 'select',
      carrier_refusals: 'insert select update',
      changed_subjects: 'select',
      due_subjects: 'select',
      events: 'insert select',
      idempotency_keys: 'delete insert select',
      mail_link_key: 'insert select',
      mail_work: 'select',
      operator_mails: 'delete insert select update',
      operator_notices: 'delete insert select update',
      order_prices: 'delete insert select update',
      processes: 'delete insert select update',
      rule_activations: 'insert select',
      rule_sets: 'insert select',
      rule_spreads: 'insert select',
      sessions: 'delete insert select update',
      shadow_log: 'delete',
      sign_in_mails: 'delete insert select update',
      tariffs: 'insert select',
      tenants: 'insert select update',
      ticket_work: 'select update',
      watch_shards: 'select',
      webhook_events: 'delete',
      would_suspend: 'select',
      workflow_outbox: 'delete select update',
      workflow_troubles: 'delete',
    })
  })

  test('shows the platform whose deliveries are due, and not what they say', async () => {
    const { rows } = await sql<{ name: string; columns: string[] }>`
      select table_name as name, array_agg(column_name::text order by column_name) as columns
        from information_schema.role_column_grants
       where grantee = 'simherd_platform' and privilege_type = 'SELECT' and (table_name like 'webhook%' or table_name = 'deliveries')
       group by 1 order by 1`.execute(db)

    expect(Object.fromEntries(rows.map(({ name, columns }) => [name, columns]))).toEqual({
      deliveries: [
        'created_at',
        'event_id',
        'mail_id',
        'next_attempt_at',
        'status',
        'tenant_id',
        'tried_since',
        'webhook_id',
      ],
      webhook_events: ['at', 'id', 'tenant_id'],
      webhooks: ['disabled_at', 'id', 'paused_until', 'tenant_id'],
    })
  })

  test('denies tenants changes to statements, logs and tariffs', async () => {
    const rights = await rightsOf('simherd_tenant')

    for (const table of [
      'statements',
      'statement_totals',
      'watchdog_log',
      'shadow_log',
      'events',
      'tariffs',
      'audit_log',
    ]) {
      expect(rights[table], table).toBe('insert select')
    }
    expect(rights.tenants).toBe('select update')
    expect([rights.api_keys, rights.backtests]).toEqual([undefined, undefined])
  })
})
