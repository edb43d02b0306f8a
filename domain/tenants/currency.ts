/** Currencies. Source: ISO 4217, as this Node.js knows it. */

const CODES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

/** Whether a text is the code of a currency in use. */
export const isCurrency = (code: string): boolean => CODES.has(code)
