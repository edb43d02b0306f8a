/** Currencies. Source: ISO 4217, as this Node.js knows it. */

const CODES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/** What a text must be that is none, for errors. */
export const CURRENCY_FORM = 'must be a code of ISO 4217, such as EUR or USD'

/** Whether a text is the code of a currency in use. */
export const isCurrency = (code: string): boolean => CODES.has(code)
