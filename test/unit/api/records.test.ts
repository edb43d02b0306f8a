/** Records of CSV and NDJSON, from files as programs write them, however their bytes arrive. */
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { type FileRecord, recordsOfLines } from '../../../api/files/lines.ts'
import { recordsOfTable, type Table } from '../../../api/files/tables.ts'
import { Unreadable } from '../../../domain/files/waste.ts'
import { Iccid, Id, optional } from '../../../domain/schema.ts'
import { Tag } from '../../../domain/sims/sim.ts'

const TABLE: Table = {
  fields: {
    iccid: Iccid('ICCID'),
    simId: Id('SIM'),
    poolId: optional(Id('pool')),
    tag: optional(Tag('tag')),
    isWatchdogExempt: optional(Type.Boolean()),
  },
  otherNames: { id: 'simId' },
  oneOf: ['iccid', 'simId'],
}
/** Exported lists may be sent. */
const EXPORTED: Table = { ...TABLE, ignored: new Set(['imsi', 'poolname']) }

/** Passes a file on in parts of some bytes. */
async function* inParts(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

type Read = (parts: AsyncGenerator<Buffer>) => AsyncGenerator<FileRecord[]>

async function recordsOf(file: string | Buffer, read: Read, size = 1024): Promise<FileRecord[]> {
  const records: FileRecord[] = []
  for await (const batch of read(inParts(Buffer.from(file), size))) records.push(...batch)
  return records
}
const table =
  (of: Table): Read =>
  (parts) =>
    recordsOfTable(parts, of)

/** What is read, with the words for what cannot be. */
const shown = (records: readonly FileRecord[]) =>
  records.map(({ value }) => (value instanceof Unreadable ? String(value) : value))
const csv = async (file: string | Buffer, size?: number, of = TABLE) => shown(await recordsOf(file, table(of), size))
const ndjson = async (file: string | Buffer, size?: number) => shown(await recordsOf(file, recordsOfLines, size))
const latin1 = (text: string) => Buffer.from(text, 'latin1')

const SURPLUS = (line: number, cell: number, value: string, columns: number) =>
  `line ${line}: got a value in cell ${cell}, "${value}"; expected ${columns} cells: text with the separator in it needs quotes`
const BYTES = (line: number) => expect.stringMatching(new RegExp(`^line ${line}: has bytes that are not UTF-8`))

describe('a row', () => {
  test('with more values than the first line has columns is unreadable, alone', async () => {
    expect(await csv('tag,simId\nmeter, 11,12\nother,13,,,\n,14\n"a, b",15\n')).toEqual([
      SURPLUS(2, 3, '12', 2),
      { tag: 'other', simId: 13 },
      { simId: 14 },
      { tag: 'a, b', simId: 15 },
    ])
  })

  test('with a value below a column without a name is unreadable', async () => {
    expect(await csv('simId,,tag\n1,,a\n2,b,c\n', 1024, EXPORTED)).toEqual([
      { simId: 1, tag: 'a' },
      SURPLUS(3, 2, 'b', 3),
    ])
  })

  test('may have a value below a column that is not read', async () => {
    expect(await csv('id,IMSI,colour\n1,262,red\n', 1024, EXPORTED)).toEqual([{ simId: 1 }])
  })

  test('shows a bounded part of the value', async () => {
    const [why] = await csv(`simId\n1,${'x'.repeat(10_000)}\n`)

    expect(String(why).length).toBeLessThan(250)
  })

  test('shows no activation code of an eSIM', async () => {
    const code = 'LPA:1$rsp.example.com$04386-AGYFT'

    expect(await csv(`simId\n1,${code}\n`)).toEqual([SURPLUS(2, 2, 'LPA:1$rsp.example.com$…', 1)])
    await expect(csv(`simId,${code}\n1,2\n`)).rejects.toThrow(/^(?!.*AGYFT)/)
  })

  test('has the digits of a cell that was kept as text', async () => {
    const file = `iccid,simId\n"=""8944500102198304826""","=""7"""\n'8944500102198304826,'8\n8944 5001 0219 8304 826,9\n`
    const iccid = '8944500102198304826'

    expect(await csv(file)).toEqual([
      { iccid, simId: 7 },
      { iccid, simId: 8 },
      { iccid, simId: 9 },
    ])
  })

  test('keeps as text what is no number, and no truth', async () => {
    expect(await csv('simId,isWatchdogExempt\n1 2,WAHR\n1.5,TRUE\n8.9E+18,0\n')).toEqual([
      { simId: '1 2', isWatchdogExempt: 'WAHR' },
      { simId: '1.5', isWatchdogExempt: true },
      { simId: '8.9E+18', isWatchdogExempt: false },
    ])
  })
})

describe('the first line', () => {
  test.each([
    ['the same', 'iccid,tag,tag', 'column tag is there twice, as "tag" and as "tag"'],
    ['another case', 'iccid,Tag,TAG', 'column tag is there twice, as "Tag" and as "TAG"'],
    ['two names of a field', 'id,simId', 'column simId is there twice, as "id" and as "simId"'],
  ])('names no column twice: %s', async (_, header, why) => {
    for (const table of [TABLE, EXPORTED]) {
      await expect(csv(`${header}\n1,2,3\n`, 1024, table)).rejects.toThrow(why)
    }
  })

  test.each([
    ['pool_id', 'poolId'],
    ['Pool ID', 'poolId'],
    ['pool', 'poolId'],
    ['Target pool', 'poolId'],
    ['poolNumber', 'poolId'],
    ['tags', 'tag'],
    ['ICCID number', 'iccid'],
    ['sim-id', 'simId'],
  ])('says what is meant by %s', async (name, field) => {
    for (const table of [TABLE, EXPORTED]) {
      await expect(csv(`iccid,id,${name}\n`, 1024, table)).rejects.toThrow(`"${name}": did you mean ${field}?`)
    }
  })

  test.each(['colour', 'note', 'no', 'kind', 'site', 'Kunde', 'poolName'])(
    'may name %s where lists are sent back',
    async (name) => {
      expect(await csv(`id,${name}\n1,x\n`, 1024, EXPORTED)).toEqual([{ simId: 1 }])
      await expect(csv(`id,${name}\n1,x\n`)).rejects.toThrow(`unknown column "${name}"`)
    },
  )

  test('names one of the columns that a row needs', async () => {
    await expect(csv('tag\na\n')).rejects.toThrow('no column iccid or simId, got tag; expected some of iccid,')
  })

  test.each([
    ['in any case', 'SIMID,Tag\n1,a\n'],
    ['with an empty last column', 'simId,tag,\n1,a,\n'],
    ['behind that of Excel', 'sep=;\r\nsimId;tag\r\n1;a\r\n'],
    ['behind that of Excel, with tabs', 'sep=\t\r\nsimId\ttag\r\n1\ta\r\n'],
    ['behind a byte order mark', '\uFEFFsimId,tag\n1,a\n'],
    ['behind both', '\uFEFFsep=;\nsimId;tag\n1;a\n'],
    ['behind blank lines', '\r\n,,\r\nsimId,tag\r\n1,a\r\n'],
    ['in quotes', '"simId","tag"\r\n"1","a"\r\n'],
  ])('is taken %s', async (_, file) => {
    for (const size of [1, 3, 1024]) expect(await csv(file, size)).toEqual([{ simId: 1, tag: 'a' }])
  })
})

describe('line ends', () => {
  test.each([
    ['CR', '\r'],
    ['LF', '\n'],
    ['CR LF', '\r\n'],
  ])('are %s, however long the file', async (_, end) => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `${n + 1},meter ${n}`)

    const read = await csv(['simId,tag', ...lines, ''].join(end))

    expect(read).toHaveLength(20_000)
    expect(read.at(-1)).toEqual({ simId: 20_000, tag: 'meter 19999' })
  })

  test('are counted within quotes too, each once', async () => {
    const file = 'simId,tag\r\n1,"a\r\nb"\n2,"c\rd\ne"\r3,f,g\n'

    const records = await recordsOf(file, table(TABLE))

    expect(records.map(({ line }) => line)).toEqual([2, 4, 7])
    expect(shown(records).at(-1)).toBe(SURPLUS(7, 3, 'g', 2))
  })

  test('end a record after a quote within text, however long the file', async () => {
    const lines = Array.from({ length: 9000 }, (_, n) => `${n + 1},pipe 5" long`)

    expect((await csv(`simId,tag\n${lines.join('\n')}`)).at(-1)).toEqual({ simId: 9000, tag: 'pipe 5" long' })
  })

  test.each([
    ['one cell', 'x'],
    ['empty cells', ','],
    ['line ends in quotes', '\n'],
  ])('are missed in a record of %s: it is refused with its line', async (_, text) => {
    await expect(csv(`simId,tag\n1,a\n2,"${text.repeat(70_000)}`)).rejects.toThrow(
      'the record in line 3 is longer than 65536 bytes',
    )
  })
})

describe('bytes that are not UTF-8', () => {
  test('make their record unreadable, alone', async () => {
    const rows = ['a,1', 'Zürich-1,2', 'Zörich-1,3', 'Z\uFFFDrich,4']
    const bad = Buffer.concat([latin1(`tag,simId\n${rows.slice(0, 3).join('\n')}\n`), Buffer.from(`${rows[3]}\n`)])

    for (const size of [1, 2, 3, 1024]) {
      expect((await csv(bad, size)).slice(0, 3)).toEqual([{ tag: 'a', simId: 1 }, BYTES(3), BYTES(4)])
    }
    expect((await csv(bad, 1)).at(-1)).toEqual({ tag: 'Z\uFFFDrich', simId: 4 })
  })

  test('are found at the end of the file', async () => {
    expect(await csv(Buffer.concat([Buffer.from('simId,tag\n1,a'), Buffer.from('ü').subarray(0, 1)]))).toEqual([
      BYTES(2),
    ])
  })

  test('are none of those of a character that another program has lost', async () => {
    expect(await csv('simId,tag\n1,Z\uFFFDrich\n')).toEqual([{ simId: 1, tag: 'Z\uFFFDrich' }])
  })

  test('make their line of NDJSON unreadable, alone', async () => {
    const file = latin1('{"a":"x"}\n{"a":"Zürich"}\n\n{"a":"y"}\n')

    for (const size of [1, 1024]) expect(await ndjson(file, size)).toEqual([{ a: 'x' }, BYTES(2), { a: 'y' }])
  })
})

test('NDJSON may begin with a byte order mark', async () => {
  for (const size of [1, 1024])
    expect(await ndjson('\uFEFF{"a":1}\n{"a":"\uFEFF"}', size)).toEqual([{ a: 1 }, { a: '\uFEFF' }])
})

test('a name that stands twice makes a line of NDJSON unreadable', async () => {
  expect(await ndjson('{"a":1,"a":2}\n{"a":{"a":1}}\n')).toEqual([
    expect.stringMatching(/^line 1: .*a/),
    { a: { a: 1 } },
  ])
})

const delimiters = fc.constantFrom(',', ';', '\t')
const ends = fc.constantFrom('\n', '\r\n', '\r')
const cell = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.stringMatching(/^[ ,;\t"'=\r\nü\u{1F4A1}]{0,6}$/u),
)

test('rows are read as they were written, wherever their bytes are divided', async () => {
  const of: Table = { fields: { simId: Id('SIM'), recordId: Type.String() }, oneOf: ['simId'] }
  const texts = fc.array(cell, { minLength: 1, maxLength: 20 })
  const property = fc.asyncProperty(
    texts,
    delimiters,
    ends,
    fc.integer({ min: 1, max: 9 }),
    async (all, delimiter, end, size) => {
      const rows = [['simId', 'recordId'], ...all.map((text, n) => [String(n), text])]
      const file = stringify(rows, { delimiter, record_delimiter: end, quoted: true })

      const read = await csv(file, size, of)

      expect(read).toEqual(all.map((recordId, simId) => (recordId === '' ? { simId } : { simId, recordId })))
    },
  )
  await fc.assert(property)
})
