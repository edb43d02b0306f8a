/**
 * Keeps a page up to date: asks for the tenant's pulse, and reads the page again after a change. Morphs the differences
 * into the page, except in fields and details that a person has touched.
 */
'use strict'
const BEAT_MS = 3000
/**
 * The slowest beat, while the service fails; and how often the page is read though nothing has changed, for its times. One
 * with `data-moving` shows what the pulse does not know of: it is read at each beat.
 */
const SLOWEST_MS = 60_000

const state = document.getElementById('live')
const main = document.getElementById('main')
/** Fields and details that a person has changed. Marks in attributes would be morphed away. */
const touched = new WeakSet()
let tag = ''
let beat = BEAT_MS
let readAt = Date.now()
let timer
let isAsking = false

for (const event of ['input', 'change']) main.addEventListener(event, ({ target }) => touched.add(target))
main.addEventListener('click', ({ target }) => {
  const summary = target.closest('summary')
  if (summary !== null) touched.add(summary.parentElement)
})

const isField = (node) => node instanceof Element && node.matches('input, select, textarea')
const isKept = (node) => touched.has(node) || node === document.activeElement
const callbacks = {
  beforeNodeMorphed: (node) => !(isField(node) && isKept(node)),
  beforeAttributeUpdated: (name, node) => !(name === 'open' && touched.has(node)),
  beforeNodeRemoved: (node) => !(node instanceof Element && node.contains(document.activeElement)),
}

/** Names of the rows of a part, in order. */
const rowsOf = (part) => [...part.querySelectorAll('tbody > [id]')].map(({ id }) => id)

/** Rows do not move under the pointer: they wait behind a button. */
function show(fresh) {
  const [before, after] = [rowsOf(main), rowsOf(fresh)]
  if (main.querySelector('tbody:hover') !== null && before.join() !== after.join()) return offer(fresh, before, after)
  morph(fresh)
}

function offer(fresh, before, after) {
  const added = after.filter((id) => !before.includes(id)).length
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = added === 0 ? 'Show changes' : `Show ${added} new`
  button.addEventListener('click', () => morph(fresh))
  state.replaceChildren(button)
}

function morph(fresh) {
  Idiomorph.morph(main, fresh.innerHTML, { morphStyle: 'innerHTML', callbacks })
  say('Live')
}

/** Shows a state. The same one is not set again: a screen reader would repeat it. */
function say(words) {
  if (state.textContent !== words) state.textContent = words
}

const ask = (url, headers = {}) =>
  fetch(url, { headers, redirect: 'manual', cache: 'no-store' }).catch(() => {
    throw new Error('the service does not answer')
  })

/** Reads the page again. */
async function read() {
  const answer = await ask(location.href)
  if (!answer.ok) throw new Error(`it answered ${answer.status}`)
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main')
  readAt = Date.now()
  show(fresh)
}

/** One question. @returns whether to go on asking */
async function askPulse() {
  const answer = await ask(document.body.dataset.pulse, tag === '' ? {} : { 'if-none-match': tag })
  // The door: the session has ended.
  if (answer.type === 'opaqueredirect') return false
  if (answer.status !== 204 && answer.status !== 304) throw new Error(`it answered ${answer.status}`)
  const hasChanged = answer.status === 204 && tag !== ''
  const isMoving = main.querySelector('[data-moving]') !== null
  if (hasChanged || isMoving || Date.now() - readAt >= SLOWEST_MS) await read()
  else if (state.firstElementChild === null) say('Live')
  // Not before the page is read: a change that could not be read is read with the next answer.
  if (answer.status === 204) tag = answer.headers.get('etag')
  return true
}

async function beatOnce() {
  clearTimeout(timer)
  if (document.hidden || isAsking) return
  isAsking = true
  try {
    if (!(await askPulse())) return say('Signed out: load the page again')
    beat = BEAT_MS
  } catch ({ message }) {
    say(`Not live: ${message}`)
    beat = Math.min(SLOWEST_MS, beat * 2)
  } finally {
    isAsking = false
  }
  timer = setTimeout(go, beat)
}

const go = () => void beatOnce()
document.addEventListener('visibilitychange', go)
go()
