import { describe, expect, test } from 'vitest'
import { migrationFile, readMigrationFiles } from '../../../store/migrate/migration-files.ts'
import { faultsOf, functionFaultsOf } from '../../../tools/check-migrations.ts'

const faults = async (text: string) => (await faultsOf(migrationFile('0099_test', text))).map(({ what }) => what)

test.each([
  ['an index on a table in use', 'create index sims_tag on sims (tag);', 'create index on sims keeps out'],
  ['a foreign key that is validated', 'alter table sims add foreign key (a) references b (a);', 'reads the whole'],
  ['a check that is validated at once', 'alter table sims add check (a > 0);', 'reads the whole table under its lock'],
  ['a unique constraint', 'alter table sims add unique (a);', 'reads the whole table under its lock'],
  ['a volatile default', 'alter table sims add a uuid default gen_random_uuid();', 'sims.a writes the whole'],
  ['an identity', 'alter table sims add a bigint generated always as identity;', 'sims.a writes the whole'],
  ['a column that references', 'alter table sims add a int references pools (id);', 'sims.a references'],
  ['a changed type', 'alter table sims alter tag type varchar;', 'a type of sims is changed'],
  ['not null', 'alter table sims alter tag set not null;', 'set not null on sims.tag'],
  ['a column dropped', 'alter table sims drop tag;', 'processes of the release before use sims.tag'],
  ['a table dropped', 'drop table sims;', 'may use what is dropped'],
  ['a column renamed', 'alter table sims rename tag to label;', 'a rename takes'],
  ['a change of all rows', "update sims set tag = '';", 'rows of sims are changed'],
  ['a deletion of rows', 'delete from sims where id = 1;', 'rows of sims are changed'],
  ['a lock', 'lock table sims;', 'lock table'],
  ['code that cannot be checked', 'do $$ begin end $$;', "what a 'do' block does"],
])('faultsOf refuses a migration with %s', async (_, text, what) => {
  expect(await faults(text)).toEqual([expect.stringContaining(what)])
})

test.each([
  ['a new table with its index', 'create table a (b int references sims (id)); create index on a (b);'],
  ['a column with a constant default', "alter table sims add a text not null default 'b' check (a <> '');"],
  ['a constraint that is not validated yet', 'alter table sims add check (a > 0) not valid;'],
  ['a constraint that is validated later', 'alter table sims validate constraint a;'],
  ['an index built concurrently', '-- no-transaction\ncreate index concurrently if not exists a on sims (a);\n'],
  ['a drop in the contract phase', '-- phase: contract\nalter table sims drop tag;\ndrop table a;'],
  ['a reason for what it blocks', "-- blocks: a few hundred keys for a moment\nupdate api_keys set name = '';"],
])('faultsOf accepts a migration with %s', async (_, text) => {
  expect(await faults(text)).toEqual([])
})

test('faultsOf wants a line per statement without a transaction', async () => {
  const text = '-- no-transaction\ncreate table a (b int); create table c (d int);\n'

  expect(await faults(text)).toEqual([expect.stringContaining('2 statements, 1 of them')])
})

test('migrationFile reads the phase of a file', async () => {
  expect((await readMigrationFiles())[0]).toMatchObject({ name: '0001_baseline', phase: 'expand', transaction: true })
  expect(migrationFile('0002_gone', '-- phase: contract\n-- no-transaction\n')).toMatchObject({
    phase: 'contract',
    transaction: false,
  })
})

describe('a function’s file', () => {
  const faults = async (text: string) => functionFaultsOf(migrationFile('functions/answer@0123456789ab', text))
  const ANSWER = 'create or replace function answer() returns integer return 1;'

  test('may replace the function it is named after', async () => {
    expect(await faults(ANSWER)).toEqual([])
    expect(await faults(`${ANSWER} revoke execute on function answer() from public;`)).toEqual([])
  })

  test.each([
    ['another function', 'create or replace function other() returns integer return 1;'],
    ['a function that must be new', 'create function answer() returns integer return 1;'],
    ['a grant of another', `${ANSWER} grant select on sims to public;`],
    ['a second statement', `${ANSWER} drop table sims;`],
    ['nothing', '-- nothing'],
  ])('may not be %s', async (_, text) => {
    expect(await faults(text)).toMatchObject([
      { instead: expect.stringContaining('create or replace function answer') },
    ])
  })
})
