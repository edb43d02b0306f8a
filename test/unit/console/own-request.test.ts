import { describe, expect, test } from 'vitest'
import { isOwnRequest, ownPath } from '../../../console/own-request.ts'

describe('isOwnRequest', () => {
  const host = 'console.example'
  test.each([
    ['a form of the same origin', { 'sec-fetch-site': 'same-origin' }],
    ['a browser without Sec-Fetch-Site', { origin: 'https://console.example' }],
    ['a host in capitals', { origin: 'https://console.example', host: 'Console.Example' }],
    ['a port', { origin: 'http://127.0.0.1:8083', host: '127.0.0.1:8083' }],
  ])('takes %s', (_, headers) => {
    expect(isOwnRequest({ host, ...headers })).toBe(true)
  })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { 'sec-fetch-site': 'same-site', origin: 'https://console.example' }],
    ['an address typed by a person', { 'sec-fetch-site': 'none' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['another port', { origin: 'https://console.example:8443' }],
    ['the host as user name', { origin: 'https://console.example@evil.example' }],
    ['an origin that the browser hides', { origin: 'null' }],
    ['neither header', {}],
    ['a host alone', { origin: 'console.example' }],
    ['no host', { origin: 'https://console.example', host: undefined }],
  ])('refuses %s', (_, headers) => {
    expect(isOwnRequest({ host, ...headers })).toBe(false)
  })
})

describe('ownPath', () => {
  test.each([
    ['/', '/'],
    ['/t/abc/sims?search=a%20b', '/t/abc/sims?search=a%20b'],
    ['/a/../b', '/b'],
    ['/x#part', '/x'],
  ])('keeps the path %s', (next, path) => {
    expect(ownPath(next)).toBe(path)
  })

  test.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n//evil.example',
    'javascript:alert(1)',
    ' //evil.example',
    '',
    undefined,
    ['/a', '/b'],
  ])('leads from %j to the beginning', (next) => {
    expect(ownPath(next)).toBe('/')
  })
})
