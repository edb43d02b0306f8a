import { describe, expect, test } from 'vitest'
import { smtpOutcome } from '../../../adapters/channels/mail/transport.ts'

describe('smtpOutcome', () => {
  test.each([
    ['a wrong password', { code: 'EAUTH', command: 'AUTH PLAIN', responseCode: 535, response: '535 5.7.8 no' }, 'ours'],
    ['a barred sender', { code: 'EENVELOPE', command: 'RCPT TO', responseCode: 550, response: '550 5.7.1 no' }, 'ours'],
    ['a policy on the mail', { command: 'DATA', responseCode: 550, response: '550 5.7.1 links' }, 'later'],
    ['a refused sender', { code: 'EENVELOPE', command: 'MAIL FROM', responseCode: 553, response: '553 no' }, 'ours'],
    ['a server that closes', { code: 'EPROTOCOL', command: 'CONN', responseCode: 421, response: '421 busy' }, 'ours'],
    ['no name', { code: 'EDNS', command: 'CONN' }, 'ours'],
    ['nobody who listens', { code: 'ESOCKET', command: 'CONN', syscall: 'connect' }, 'ours'],
    ['a connection that the server closes', { code: 'ECONNECTION', command: 'CONN' }, 'later'],
    ['no such mailbox', { command: 'RCPT TO', responseCode: 550, response: '550 5.1.1 unknown' }, 'gone'],
    ['no such mailbox, bare', { command: 'RCPT TO', responseCode: 550, response: '550 unknown' }, 'gone'],
    ['no such mailbox, after DATA', { command: 'DATA', responseCode: 550, response: '550 5.1.1 unknown' }, 'gone'],
    ['a full mailbox', { command: 'RCPT TO', responseCode: 552, response: '552 5.2.2 full' }, 'later'],
    ['a mail that is too large', { command: 'DATA', responseCode: 552, response: '552 5.3.4 too big' }, 'refused'],
    ['content, bare', { command: 'DATA', responseCode: 550, response: '550 spam' }, 'refused'],
    ['greylisting', { command: 'RCPT TO', responseCode: 451, response: '451 4.3.0 later' }, 'later'],
    ['greylisting as policy', { command: 'RCPT TO', responseCode: 450, response: '450 4.2.0 later' }, 'later'],
    ['a connection lost in the mail', { code: 'ECONNRESET', command: 'DATA' }, 'later'],
  ] as const)('of %s', (_what, failure, outcome) => {
    expect(smtpOutcome(failure)).toBe(outcome)
  })
})
