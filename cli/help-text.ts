/** Text that appears in the help of many commands. */

/** Says which service a command sends its requests to. */
export const ASKS =
  'Asks the internal API at SERVICE_INTERNAL_URL with SERVICE_KEY; without them the one that "npm start" runs.'
