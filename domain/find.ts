/** Finding an object of a tenant by a text that a person has copied from a mail, a log or a card. */
import { type Static, Type } from 'typebox'
import { digitsIn, ICCID, IMSI, MSISDN, otherIccidsOf } from './identifiers.ts'
import { oneOf, strictObject, Text, UUID } from './schema.ts'
import { parseWorkflowId } from './temporal/ids.ts'

/** SIMs by tag, and pools by name: at most so many of each. */
export const MOST_NAMED = 20
/** Ids of workflows are the longest. */
const MOST_TEXT = 300

export const FindQuery = Type.Object({
  q: Text(
    'ICCID, IMSI or MSISDN, also in groups; beginning of a tag or of the name of a pool; id of a ticket or a workflow; number of an order, SIM or pool',
    '8944 5001 0219 8304 826',
    { minLength: 1, maxLength: MOST_TEXT },
  ),
})

export const FoundObject = strictObject({
  kind: oneOf(['sim', 'pool', 'ticket', 'order', 'workflow'], 'Kind of the object'),
  id: Text('Its id, as in the path that reads it', '17'),
  matched: oneOf(['iccid', 'imsi', 'msisdn', 'tag', 'name', 'id'], 'The field with the text'),
  name: Text(
    'Tag of a SIM, else its ICCID; name of a pool; for a ticket, that of its SIM. Empty: it has none',
    'meter 17',
  ),
})
export type FoundObject = Static<typeof FoundObject>

export const Found = strictObject({
  objects: Type.Array(FoundObject, {
    description: `Whole numbers and ids first, then at most ${MOST_NAMED} SIMs by tag and pools by name, each in alphabetical order`,
  }),
  hasMore: Type.Boolean({ description: 'Whether more tags or names begin so' }),
})
export type Found = Static<typeof Found>

/** The numbers and ids that a text can be read as. */
export interface Sought {
  /** Without white space around it. */
  readonly text: string
  readonly iccids: readonly string[]
  readonly imsis: readonly string[]
  readonly msisdns: readonly string[]
  /** Number of a SIM, a pool or an order. */
  readonly number: number | null
  readonly ticketId: string | null
  /** Null too for a workflow of another tenant. */
  readonly workflowId: string | null
}

/** Reads a text as numbers and ids. ICCIDs are sought with and without check digit, MSISDNs with and without plus. */
export function readSought(tenantId: string, given: string): Sought {
  const text = given.trim()
  const written = digitsIn(text) ?? ''
  const digits = written.replace(/^\+/, '')
  const abroad = digits.replace(/^00/, '')
  const number = Number(digits)
  return {
    text,
    iccids: ICCID.test(written) ? [written, ...otherIccidsOf(written)] : [],
    imsis: IMSI.test(written) ? [written] : [],
    msisdns: MSISDN.test(abroad) ? [abroad, `+${abroad}`] : [],
    number: written !== '' && Number.isSafeInteger(number) && number > 0 ? number : null,
    ticketId: UUID.test(text) ? text.toLowerCase() : null,
    workflowId: parseWorkflowId(text)?.tenantId === tenantId ? text : null,
  }
}
