/** The page of `kubeloop dev --ui`. What comes from objects becomes text, never markup. */

/** The height of a row, as in page.css. */
const ROW = 22
const [MAX_RUNS, MAX_FAILURES] = [2000, 50]
/** The wait of the drawing of news, so that many of them take little of the browser's time. */
const NEWS_MS = 250
const token = location.pathname.split('/')[1]
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/** @type {Map<string, any>} */ const objects = new Map()
/** @type {Map<string, any[]>} */ const dependents = new Map()
/** @type {Map<string, any>} */ const failures = new Map()
/** @type {Map<number, any[]>} */ const causedBy = new Map()
/** @type {Map<number, any>} */ const runs = new Map()
/** @type {Set<string>} */ const folded = new Set()
/** @type {any} */ let state = { queues: [], waiting: [], paused: { all: false, keys: [] }, dropped: 0 }
let [problem, filter, skewMs, isTreeNew, isTreeStale, isDrawing, isLost] = ['', '', 0, false, false, false, true]
/** What the details are of: `{ object: id }` or `{ run: id }`. @type {any} */ let chosen = {}

/** Leaves an equal text alone: a screen reader reads each change of the status. */
const setText = (id, text) => {
  if (byId(id).textContent !== text) byId(id).textContent = text
}

/** Returns an element with properties and children, of which texts stay texts. */
function make(tag, /** @type {any} */ properties = {}, /** @type {any[]} */ ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'className' || name === 'onclick') element[/** @type {'className'} */ (name)] = value
    else if (value !== undefined) element.setAttribute(name, String(value))
  }
  element.append(...children.filter((each) => each !== undefined))
  return element
}
const link = (/** @type {string} */ text, /** @type {() => void} */ onclick) =>
  make('button', { className: 'link', type: 'button', onclick }, text)
const span = (className, text) => make('span', { className }, text)
const ms = (value) => value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`
const clock = (value) => new Date(value).toTimeString().slice(0, 8)
const inCluster = ({ cluster }) => cluster ? ` in ${cluster}` : ''

/** A list of which only the rows in sight are in the page. Arrow keys move, Enter chooses. */
class List {
  /** @type {any[]} */ items = []
  active = 0
  constructor(id, options) {
    this.element = byId(id)
    this.id = id
    this.options = options
    this.rows = make('div', { className: 'rows', role: 'presentation' })
    this.space = make('div', { role: 'presentation' })
    this.element.append(this.rows, this.space)
    this.element.addEventListener('scroll', () => this.draw())
    this.element.addEventListener('keydown', (event) => this.onKey(event))
    this.element.addEventListener('click', ({ target }) => {
      const row = /** @type {HTMLElement} */ (target).closest('.row')
      if (row) this.choose(Number(row.getAttribute('aria-posinset')) - 1)
    })
    new ResizeObserver(() => this.draw()).observe(this.element)
  }
  show(items) {
    const current = this.items[this.active]?.id
    this.active = Math.max(0, current === undefined ? 0 : items.findIndex(({ id }) => id === current))
    this.items = items
    this.space.style.height = `${items.length * ROW}px`
    this.draw()
  }
  draw() {
    const { items, element } = this
    const first = Math.max(0, Math.floor(element.scrollTop / ROW) - 2)
    const last = Math.min(items.length, first + Math.ceil(element.clientHeight / ROW) + 4)
    this.rows.replaceChildren(
      ...items.slice(first, last).map((item, at) => {
        const isActive = first + at === this.active
        const row = this.options.row(item)
        row.id = `${this.id}-${first + at}`
        row.className = `row${isActive ? ' active' : ''}`
        row.style.top = `${(first + at) * ROW - element.scrollTop}px`
        row.setAttribute('aria-posinset', first + at + 1)
        row.setAttribute('aria-setsize', items.length)
        row.setAttribute('aria-selected', this.options.isChosen(item))
        return row
      }),
    )
    if (items.length > 0) element.setAttribute('aria-activedescendant', `${this.id}-${this.active}`)
  }
  move(to) {
    this.active = Math.max(0, Math.min(this.items.length - 1, to))
    const [top, height] = [this.active * ROW, this.element.clientHeight]
    const { scrollTop } = this.element
    if (top < scrollTop) this.element.scrollTop = top
    else if (top + ROW > scrollTop + height) this.element.scrollTop = top + ROW - height
    this.draw()
  }
  choose(at) {
    this.move(at)
    if (this.items[at]) this.options.choose(this.items[at])
  }
  onKey(/** @type {KeyboardEvent} */ event) {
    const page = Math.floor(this.element.clientHeight / ROW)
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    const by = moves[/** @type {keyof typeof moves} */ (event.key)]
    const item = this.items[this.active]
    if (by !== undefined) this.move(this.active + by)
    else if ((event.key === 'Enter' || event.key === ' ') && item) this.choose(this.active)
    else if (!item || !this.options.onKey?.(event.key, item)) return
    event.preventDefault()
  }
}

const tree = new List('objects', {
  row({ id, depth }) {
    const { kind, key, state: how, cluster } = objects.get(id) ?? {}
    const has = filter === '' && dependents.has(id)
    const expanded = has ? !folded.has(id) : undefined
    const mark = has ? (expanded ? '▾ ' : '▸ ') : '  '
    const row = make(
      'div',
      { role: 'treeitem', 'aria-level': depth + 1, 'aria-expanded': expanded },
      span('soft', mark + kind),
      ` ${key}${inCluster({ cluster })} `,
      span('soft', how ?? ''),
    )
    row.style.paddingLeft = `${8 + depth * 16}px`
    return row
  },
  isChosen: ({ id }) => chosen.object === id,
  choose: ({ id }) => choose({ object: id }),
  onKey(key, { id }) {
    const { owner } = objects.get(id) ?? {}
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return false
    const isOpen = dependents.has(id) && !folded.has(id)
    if (key === 'ArrowRight' && isOpen) tree.move(tree.active + 1)
    else if (key === 'ArrowRight') folded.delete(id)
    else if (isOpen) folded.add(id)
    else if (objects.has(owner)) tree.move(tree.items.findIndex((each) => each.id === owner))
    isTreeNew = true
    draw()
    return true
  },
})

const timeline = new List('runs', {
  row(run) {
    const causes = run.causes.map((each) => each.run ? `${each.text} (by run ${each.run})` : each.text).join(', ')
    const end = run.error ? span('bad', `failed: ${run.error.message}`) : span('good', writesOf(run))
    const head = `${clock(run.endedMs)} ${run.kind} ${run.key}${inCluster(run)} `
    return make('div', { role: 'option' }, head, span('soft', `${causes || 'queued'} → ${ms(run.durationMs)} `), end)
  },
  isChosen: ({ id }) => chosen.run === id,
  choose: ({ id }) => choose({ run: id }),
})

function writesOf({ writes }) {
  return writes.map(({ verb, kind, key, result }) => `${verb} ${kind} ${key} (${result})`).join(', ') ||
    'nothing to write'
}

function matches({ kind, key, controller = '' }) {
  return filter === '' || `${kind} ${key} ${controller}`.toLowerCase().includes(filter)
}

/** Returns the objects below their owners; with a filter, only those that match. */
function rowsOfTree() {
  dependents.clear()
  const roots = []
  const all = [...objects.values()].sort((a, b) => a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.key < b.key ? -1 : 1)
  for (const each of all) {
    if (!objects.has(each.owner)) roots.push(each)
    else if (dependents.has(each.owner)) dependents.get(each.owner)?.push(each)
    else dependents.set(each.owner, [each])
  }
  if (filter !== '') return all.filter(matches).map(({ id }) => ({ id, depth: 0 }))
  const rows = []
  const add = (each, depth) => {
    rows.push({ id: each.id, depth })
    if (depth < 20 && !folded.has(each.id)) { for (const own of dependents.get(each.id) ?? []) add(own, depth + 1) }
  }
  for (const each of roots) add(each, 0)
  return rows
}

async function send(action, of = {}) {
  const headers = { 'content-type': 'application/json', 'x-kubeloop-token': token }
  const response = await fetch('command', { method: 'POST', headers, body: JSON.stringify({ action, ...of }) })
  problem = response.ok ? '' : `: cannot ${action}: ${(await response.text()).trim()}`
  draw()
}

async function load(path) {
  const response = await fetch(path)
  return response.ok ? await response.json() : undefined
}

function choose(next) {
  chosen = next
  isTreeStale = true
  draw()
  void showDetails()
}

/** Returns the buttons of a key. */
function actionsOf(controller, key) {
  const id = `${controller} ${key}`
  const button = (action, text, properties = {}) =>
    make('button', { type: 'button', onclick: () => send(action(), { controller, key }), ...properties }, text)
  const isPaused = () => state.paused.keys.includes(id)
  return make(
    'p',
    {},
    button(() => isPaused() ? 'resume' : 'pause', isPaused() ? 'Resume key' : 'Pause key', { 'data-pauses': id }),
    button(() => 'step', 'Step key'),
    button(() => 'replay', 'Replay key'),
    span('soft', ` ${controller}`),
  )
}

async function showDetails() {
  const [own, of] = [chosen, chosen.object ? objects.get(chosen.object) : runs.get(chosen.run)]
  if (!of) return
  const parts = [make('h3', {}, `${of.kind} ${of.key}${inCluster(of)}`)]
  if (own.object) {
    for (const { controller } of state.queues.filter((each) => each.kind === of.kind && each.cluster === of.cluster)) {
      parts.push(actionsOf(controller, of.key))
    }
    const its = [...runs.values()].filter((run) =>
      run.kind === of.kind && run.key === of.key && run.cluster === of.cluster
    )
    parts.push(make('h3', {}, 'Runs'), listOf(its.slice(-10).reverse().map(runLink)))
    const object = await load(`object?id=${encodeURIComponent(own.object)}`)
    parts.push(make('h3', {}, 'Object'), make('pre', {}, object ? JSON.stringify(object, null, 2) : 'It is gone.'))
  } else {
    parts.push(actionsOf(of.controller, of.key), make('h3', {}, `Run ${of.id}: caused by`))
    parts.push(listOf(of.causes.map((each) => make('span', {}, each.text, ' ', ...originOf(each)))))
    if (of.error) parts.push(make('h3', {}, 'Failed'), errorOf(of.error))
    for (const write of of.writes) parts.push(...await writeOf(write))
    if (of.writes.length === 0) parts.push(make('p', {}, 'It wrote nothing.'))
  }
  if (chosen === own) byId('details').replaceChildren(...parts)
}

function originOf({ run, by, change }) {
  const origin = runs.has(run) ? [runLink(runs.get(run))] : run ? [`by run ${run}`] : by ? [`by ${by}`] : []
  return change && !run ? [...origin, ' ', differenceButton(change)] : origin
}

function differenceButton(change) {
  const button = link('difference', async () => {
    const read = await load(`change?id=${change}`)
    button.replaceWith(read ? differenceOf(read) : 'The change is not stored any more.')
  })
  return button
}

/** Returns a write with its difference, and the runs that it caused. */
async function writeOf(write) {
  const { verb, kind, key, result, change } = write
  const read = change && await load(`change?id=${change}`)
  const next = (causedBy.get(change) ?? []).filter(({ id }) => runs.has(id))
  return [
    make('h3', {}, `Wrote: ${verb} ${kind} ${key}${inCluster(write)} (${result})`),
    read ? differenceOf(read) : make('p', { className: 'soft' }, 'Its difference is not stored.'),
    ...(next.length > 0 ? [make('p', {}, 'This caused'), listOf(next.map(runLink))] : []),
  ]
}

function differenceOf({ title, fields }) {
  const lines = fields.map(({ path, old, now }) => [
    ...(old === undefined ? [] : [span('bad', `− ${path}: ${old}\n`)]),
    ...(now === undefined ? [] : [span('good', `+ ${path}: ${now}\n`)]),
  ])
  return make('pre', { 'aria-label': 'difference' }, span('soft', `${title}\n`), ...lines.flat())
}

const listOf = (items) => make('ul', {}, ...items.map((each) => make('li', {}, each)))

const runLink = (run) =>
  link(`${clock(run.endedMs)} ${run.kind} ${run.key}${inCluster(run)} (run ${run.id})`, () => choose({ run: run.id }))

function errorOf({ message, frames, line }) {
  const text = [message, line && `  ${line}`, ...frames.map((frame) => `  at ${frame}`)].filter(Boolean).join('\n')
  return make('pre', { className: 'bad' }, text)
}

function drawSide() {
  const { queues, waiting, paused, dropped } = state
  const heads = ['controller', 'waiting', 'running', 'held'].map((each) => make('th', { scope: 'col' }, each))
  const nowMs = Date.now() + skewMs
  const keys = queues.flatMap(({ controller, running, held }) => [
    ...running.map(({ key, sinceMs }) => `${controller} ${key}: runs for ${ms(Math.max(0, nowMs - sinceMs))}`),
    ...held.slice(0, 20).map((key) => `${controller} ${key}: held`),
  ])
  const later = waiting.slice(0, 50).map(({ controller, key, dueMs, attempt }) =>
    `${controller} ${key}: ${attempt ? `retry ${attempt}` : 'again'} in ${ms(Math.max(0, dueMs - nowMs))}`
  )
  byId('queues').replaceChildren(
    make(
      'table',
      {},
      make('tr', {}, ...heads),
      ...queues.map(({ controller, queued, running, heldCount }) =>
        make('tr', {}, ...[controller, queued, running.length, heldCount].map((each) => make('td', {}, String(each))))
      ),
    ),
    listOf([...keys, ...later]),
    dropped > 0 ? `${dropped} runs are left out: the operator is faster than they can be sent.` : '',
  )
  setText('pause', paused.all ? 'Resume all' : 'Pause all')
  for (const each of document.querySelectorAll('[data-pauses]')) {
    each.textContent = paused.keys.includes(each.getAttribute('data-pauses')) ? 'Resume key' : 'Pause key'
  }
  if (!isLost) setText('status', `${paused.all ? 'Paused: runs are held' : 'Live'}${problem}`)
  const now = [...failures.values()].filter(({ isOver }) => !isOver).length
  setText('failures-title', `Failures (${now} now)`)
}

/** Changes the text of a failure in place: a button in it may have the focus. */
function drawFailure({ id, title, error, count, isOver, run }) {
  const known = failures.get(id)
  const element = known?.element ?? make('div', {}, make('p'), errorOf(error))
  if (!known) byId('failures').prepend(element)
  const line = element.firstChild
  if (!known && run) line.append('', link('run', () => choose({ run: failures.get(id).run })))
  else if (!known) line.append('')
  line.firstChild.textContent = `${title}: ${count} ×${isOver ? ', works again' : ''} `
  failures.set(id, { isOver, run, element })
  while (failures.size > MAX_FAILURES) {
    const [[oldest, each]] = failures
    each.element.remove()
    failures.delete(oldest)
  }
}

function draw(waitMs = 0) {
  if (isDrawing) return
  isDrawing = true
  const frame = () =>
    requestAnimationFrame(() => {
      isDrawing = false
      if (isTreeNew) tree.show(rowsOfTree())
      else if (isTreeStale) tree.draw()
      isTreeNew = isTreeStale = false
      const shown = [...runs.values()].filter(matches).reverse()
      // The rows in sight stay where they are, unless the newest is in sight.
      const added = shown.length > 0 && timeline.items.length > 0
        ? shown.findIndex(({ id }) => id === timeline.items[0].id)
        : 0
      if (timeline.element.scrollTop > 0 && added > 0) timeline.element.scrollTop += added * ROW
      timeline.show(shown)
      setText('objects-title', `Objects (${objects.size})`)
      setText('runs-title', `Runs (${shown.length})`)
      drawSide()
    })
  if (waitMs > 0) setTimeout(frame, waitMs)
  else frame()
}

function deleteFirst(/** @type {Map<number, any>} */ map) {
  for (const [key] of map) return map.delete(key)
}

function take(message) {
  if (message.isFirst) {
    for (const each of [objects, failures, causedBy, runs]) each.clear()
    byId('failures').replaceChildren()
    isTreeNew = true
  }
  state = { ...state, ...message }
  skewMs = message.nowMs - Date.now()
  for (const each of message.objects) {
    const known = objects.get(each.id)
    if (known?.owner !== each.owner || !known) isTreeNew = true
    else if (known.state !== each.state) isTreeStale = true
    objects.set(each.id, each)
  }
  for (const id of message.gone) isTreeNew = objects.delete(id) || isTreeNew
  for (const run of message.runs) {
    if (runs.has(run.id)) continue
    runs.set(run.id, run)
    for (const { change } of run.causes) if (change) causedBy.set(change, [...causedBy.get(change) ?? [], run])
    if (runs.size > MAX_RUNS) deleteFirst(runs)
  }
  while (causedBy.size > MAX_RUNS) deleteFirst(causedBy)
  for (const each of message.failures) drawFailure(each)
  setText('operator', message.operator ?? '')
  isLost = false
  draw(NEWS_MS)
}

byId('filter').addEventListener('input', ({ target }) => {
  filter = /** @type {HTMLInputElement} */ (target).value.toLowerCase()
  isTreeNew = true
  draw()
})
byId('pause').addEventListener('click', () => send(state.paused.all ? 'resume' : 'pause'))
byId('step').addEventListener('click', () => send('step'))
const events = new EventSource('events')
events.onmessage = ({ data }) => take(JSON.parse(data))
events.onerror = () => {
  isLost = true
  byId('status').textContent = events.readyState === EventSource.CLOSED
    ? 'Disconnected: kubeloop dev has ended, or too many pages are open'
    : 'Disconnected: trying again'
}
