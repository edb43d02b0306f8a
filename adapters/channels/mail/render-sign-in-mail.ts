/** Renders the mail that signs in a contact. Pure. */
import { instant } from '../../../domain/local-time.ts'
import { LINK_MS } from '../../../domain/tenants/session.ts'
import { writeCode } from '../../../domain/tenants/sign-in-mail.ts'
import { oneLine } from './format.ts'
import { HEADERS, type Mail, template, tenantHeader } from './render-mail.ts'
import { signInText } from './text.ts'
import type { SignInView } from './views.ts'

/** The content of a mail that signs in. */
export interface SignInNotice {
  readonly tenantName: string
  /** IANA name. */
  readonly timeZone: string
  /** Address of the console, without a trailing slash. */
  readonly consoleUrl: string
  /** Opens the page that signs in. */
  readonly url: string
  /** Eight digits. */
  readonly code: string
  readonly until: Date
}

const html = template<SignInView>('sign-in')

export function renderSignInMail({ tenantName, timeZone, consoleUrl, url, code, until }: SignInNotice): Mail {
  const tenant = oneLine(tenantName)
  const view: SignInView = {
    tenant,
    asked: `Somebody asked to sign in with this address, for ${tenant}.`,
    byLink: 'The link works in the browser where you asked for it.',
    byCode: 'In any other browser, type this code at',
    url,
    codeUrl: `${consoleUrl}/sign-in/code`,
    code: writeCode(code),
    ends: `Both work once, for ${LINK_MS / 60_000} minutes, until ${instant(until.getTime(), timeZone)}. If it was not you who asked, delete this mail: without it nobody signs in.`,
  }
  return {
    subject: 'Sign in to Simherd',
    text: signInText(view),
    html: html({ ...view, preheader: view.asked, offers: [] }),
    headers: { ...HEADERS, ...tenantHeader(tenantName) },
  }
}
