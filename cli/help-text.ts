/** What stands in the help of many commands. */

/** Which service a command asks. */
export const ASKS =
  'Asks the internal API at SERVICE_INTERNAL_URL with SERVICE_KEY; without them the one that "npm start" runs.'
