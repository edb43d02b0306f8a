/** Where Debian has it. */
export const CHROMIUM = '/usr/bin/chromium'
