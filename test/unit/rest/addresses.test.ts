/** A client of several APIs that answer alike. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { openAddresses } from '../../../adapters/rest/addresses.ts'
import { type Answer, answers, startReceiver } from '../../setup/webhook-receiver.ts'

/** An API, and the requests that it got. */
async function anApi(answer: Answer = answers(200, 'here')) {
  const api = Object.assign(await startReceiver(), { answer })
  onTestFinished(api.stop)
  return {
    url: api.url,
    get got() {
      return api.received.map(({ method, path, body }) => `${method} ${path} ${body}`)
    },
  }
}
const away = answers(503, 'away')
const silent: Answer = () => undefined
const NOBODY = 'http://127.0.0.1:9'

/** Sends POSTs with a body, at times that the test sets. */
function clientOf(urls: readonly string[], timeoutMs = 30_000) {
  const at = { now: 0 }
  const addresses = openAddresses(urls.join(', '), () => at.now)
  let requests = 0
  const post = async (signal = new AbortController().signal) => {
    const request = new Request(`${addresses.first}/p`, { method: 'POST', body: `n${++requests}`, signal })
    const response = await addresses.send(request, { timeoutMs })
    return { status: response.status, text: await response.text() }
  }
  return { post, at }
}

test('takes turns', async () => {
  const [one, other] = [await anApi(), await anApi()]
  const { post } = clientOf([`${one.url}/`, other.url])

  for (let n = 0; n < 4; n++) await post()

  expect(one.got).toEqual(['POST /p n1', 'POST /p n3'])
  expect(other.got).toEqual(['POST /p n2', 'POST /p n4'])
})

test.each([
  ['does not listen', undefined],
  ['does not answer', silent],
])(
  'sends the whole request to the next address if one %s, and leaves that one alone for 10 s',
  async (_what, answer) => {
    const ill = answer === undefined ? { url: NOBODY, got: [] } : await anApi(answer)
    const well = await anApi()
    const { post, at } = clientOf([ill.url, well.url], answer === silent ? 400 : undefined)

    const first = await post()
    for (let n = 0; n < 3; n++) await post()
    at.now = 9999
    await post()

    expect(first).toEqual({ status: 200, text: 'here' })
    expect(well.got).toEqual([1, 2, 3, 4, 5].map((n) => `POST /p n${n}`))
    if (answer !== undefined) expect(ill.got).toEqual(['POST /p n1'])
  },
)

test('lets one request at a time try an address that has rested', async () => {
  let isWell = false
  const api = await anApi((response) => (isWell ? response.end('back') : undefined))
  const well = await anApi()
  const { post, at } = clientOf([api.url, well.url], 1000)
  await post()

  at.now = 10_000
  const triedOnce = await Promise.all([post(), post(), post(), post()])
  const tried = api.got
  isWell = true
  at.now = 20_000
  await post()
  const back = await Promise.all([post(), post()])

  expect(triedOnce.map(({ text }) => text)).toEqual(['here', 'here', 'here', 'here'])
  expect(tried).toEqual(['POST /p n1', expect.stringMatching(/ n[2-5]$/)])
  expect(back.map(({ text }) => text).toSorted()).toEqual(['back', 'here'])
})

test('sends the request to the next address after a 503, but not to one that rests', async () => {
  const [hanging, ill] = [await anApi(silent), await anApi(away)]
  const well = await anApi()
  const two = clientOf([ill.url, well.url])
  const three = clientOf([hanging.url, ill.url], 1000)

  for (let n = 0; n < 3; n++) expect((await two.post()).status).toBe(200)
  expect(ill.got).toEqual(['POST /p n1', 'POST /p n3'])
  for (let n = 0; n < 3; n++) expect((await three.post()).status).toBe(503)
  expect(hanging.got).toEqual(['POST /p n1'])
})

test('waits for a slow address while the others rest', async () => {
  const hanging = await anApi(silent)
  let delayMs = 0
  const slow = await anApi((response) => setTimeout(() => response.end('here'), delayMs))
  const { post } = clientOf([hanging.url, slow.url], 2000)
  await post()

  delayMs = 1200

  expect((await Promise.all([post(), post()])).map(({ text }) => text)).toEqual(['here', 'here'])
})

/** A client whose requests the test answers, at times that the test sets. */
function clientWithoutApis(urls: string) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const asked: string[] = []
  const answers: (() => void)[] = []
  const failures: (() => void)[] = []
  const addresses = openAddresses(urls, Date.now)
  const post = (name: string) =>
    addresses.send(new Request(`${addresses.first}/${name}`), {
      timeoutMs: 40_000,
      send: ({ url }, signal) =>
        new Promise((resolve, reject) => {
          asked.push(url)
          answers.push(() => resolve(new Response()))
          failures.push(() => reject(new Error('reset')))
          signal.addEventListener('abort', () => reject(new Error('aborted')))
        }),
    })
  return { post, asked, answers, failures, answerLast: () => answers.at(-1)?.() }
}

test('goes back to a slow address if the next one hangs', async () => {
  const { post, asked, answers, answerLast } = clientWithoutApis('http://slow, http://hanging')

  const first = post('first')
  await vi.advanceTimersByTimeAsync(5000)
  const second = post('second')
  const third = post('third')
  await vi.advanceTimersByTimeAsync(5000)
  answers[2]?.()
  await third
  await vi.advanceTimersByTimeAsync(5000)
  answerLast()
  await second
  await vi.advanceTimersByTimeAsync(5000)
  answerLast()
  await first

  expect(asked.filter((url) => url.endsWith('first'))).toEqual([
    'http://slow/first',
    'http://hanging/first',
    'http://slow/first',
  ])
})

test('sends a slow request once to a single address, though it was silent before', async () => {
  const { post, asked, failures, answerLast } = clientWithoutApis('http://only')
  const silent = post('silent')
  failures[0]?.()
  await expect(silent).rejects.toThrow('reset')
  await vi.advanceTimersByTimeAsync(20_000)

  const slow = post('slow')
  await vi.advanceTimersByTimeAsync(30_000)
  answerLast()
  await slow

  expect(asked).toEqual(['http://only/silent', 'http://only/slow'])
})

test('gives the last response, or the last error, if no address works', async () => {
  const ill = await anApi(away)

  expect(await clientOf([NOBODY, ill.url]).post()).toEqual({ status: 503, text: 'away' })
  expect(await clientOf([ill.url]).post()).toEqual({ status: 503, text: 'away' })
  await expect(clientOf([ill.url, NOBODY]).post()).rejects.toThrow('fetch failed')
})

test('follows no redirect, which would send the request elsewhere', async () => {
  const other = await anApi()
  const moved = await anApi(answers(303, '', { location: `${other.url}/p` }))

  expect(await clientOf([moved.url]).post()).toEqual({ status: 303, text: '' })
  expect(other.got).toEqual([])
})

test('ends with its caller', async () => {
  const [slow, other] = [await anApi(silent), await anApi()]
  const { post } = clientOf([slow.url, other.url])
  const caller = new AbortController()
  const posting = post(caller.signal)
  await expect.poll(() => slow.got).toHaveLength(1)

  caller.abort()

  await expect(posting).rejects.toThrow('abort')
  expect(other.got).toEqual([])
})
