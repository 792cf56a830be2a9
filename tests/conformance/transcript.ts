/** Runs scripts of requests and renders the answers as text that is equal on every server. */
import assert from 'node:assert/strict'
import { type Answer, type Api, APPLY, type Body, type Case, JSON_PATCH, MERGE, STRATEGIC } from './api.ts'
import { lineOf, recordedCase } from './recording.ts'

/** Options of a step. */
interface StepOptions {
  readonly type?: string
  readonly accept?: string
  readonly userAgent?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Changes the body of the answer before it is shown. */
  readonly look?: (body: Body) => Body
  /** What the answer must have: the step is repeated until then, as a real server reads much from caches. */
  readonly until?: string
  /** How often it is sent, so that caches of a real server have time. Default: once. */
  readonly times?: number
}

/** A body, or a function that makes it from the bodies of the steps before. */
export type StepBody = Body | ((answers: readonly Body[]) => Body)

/**
 * One request. The line is `METHOD path`, followed by what the answer must show of the body: `?` and paths, such as
 * `GET cm/a ? data metadata.labels`, or `info|title` if keys have dots; an error shows its Status, or `code` alone.
 * Paths begin with a short name (see {@link pathOf}) or a slash. `jane: GET cm/a` impersonates a user. In paths, headers
 * and bodies, `{0.metadata.uid}` inserts a value of the first step's body, `{-1.…}` of the previous one's. The methods
 * APPLY, MERGE, JSON and STRATEGIC are patches; `WATCH n path` reads n events, `WATCH name path` those up to an object of
 * that name. `CALLS` shows what each webhook of the script got since the last such line.
 */
export type Step = string | readonly [line: string, body?: StepBody, options?: StepOptions]

/** A script whose answers are recorded. */
export interface Script {
  readonly name: string
  /** Prepares the server. Resolves with names that stand in braces in lines, bodies and answers. */
  readonly setup?: (api: Api) => Promise<Readonly<Record<string, string>>>
  /** Installs webhooks, after `setup`. Resolves with a function that returns what each got since its last call. */
  readonly hooks?: (api: Api) => Promise<() => readonly (readonly Body[])[]>
  readonly steps: readonly Step[]
}

/** Returns a script on a server as it is. */
export const script = (name: string, steps: readonly Step[]): Script => ({ name, steps })

/** Returns the cases of scripts, whose recording has the name of the group, and cases as they are. */
export function casesOf(group: string, cases: readonly (Script | Case)[]): readonly Case[] {
  return cases.map((each) => 'steps' in each ? recordedCase(group, each.name, (api) => playScript(api, each)) : each)
}

async function* playScript(api: Api, { setup, hooks, steps }: Script): AsyncGenerator<string> {
  const answers: Body[] = []
  const seen: string[] = []
  const numbered = (whole: string, field: string): string => {
    if (!seen.includes(whole)) seen.push(whole)
    return `{${field} ${seen.indexOf(whole)}}`
  }
  const names = await setup?.(api) ?? {}
  const calls = await hooks?.(api)
  for (const step of steps) {
    const [line, body, options] = typeof step === 'string' ? [step] : step
    const { text, answer } = calls && line.startsWith('CALLS')
      ? { text: callsText(api, calls(), line, names), answer: undefined }
      : await runStep(api, line, body, options, answers, names)
    yield lineOf(shortened(line), text.replace(/\{(resourceVersion|uid) ([^}]*)\}/g, numbered))
    answers.push(answer)
  }
}

function callsText(api: Api, calls: readonly (readonly Body[])[], line: string, names: Names): string {
  const picks = line.split(' ? ')[1] ?? ''
  const all = { ns: api.namespace, group: api.group, ...names }
  return neutral(all, calls.map((got) => got.map((each) => shown(each, picks)).join('; ') || 'none').join(' | '))
}

/** Keeps a long request, such as one with a list of selectors, out of the recording. */
const shortened = (line: string): string => line.length > 120 ? `${line.slice(0, 119)}…` : line

/** A ConfigMap; a namespace or the group of the custom kind in a body is written `{ns}` and `{group}`. */
export function cm(name: string, data: unknown = { k: 'v' }, metadata: Record<string, unknown> = {}): Body {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data }
}

export function foo(name: string, spec: unknown = { size: 1 }, metadata: Record<string, unknown> = {}): Body {
  return { apiVersion: '{group}/v1', kind: 'Foo', metadata: { name, ...metadata }, spec }
}

export function deploy(name: string, spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): Body {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'nginx' }] } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, ...metadata },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  }
}

/** How often a step is sent until it has its answer. */
const MAX_TRIES = 5000

const PATCHES: Readonly<Record<string, string>> = { APPLY, MERGE, JSON: JSON_PATCH, STRATEGIC }

/** Runs one step. Returns its text and the body of the answer; for a watch, the events. */
export async function runStep(
  api: Api,
  line: string,
  body: StepBody,
  options: StepOptions | undefined,
  answers: readonly Body[],
  names: Readonly<Record<string, string>> = {},
): Promise<{ text: string; answer: Body; full: string }> {
  const { look, until = '', times = 1, headers: own, ...others } = options ?? {}
  const all = { ns: api.namespace, group: api.group, ...names }
  const [, user, request = '', paths = ''] = /^(?:(\S+): )?(.*?)(?: \? (.*))?$/s.exec(line)!
  const picks = filled(all, paths)
  const [method = '', ...rest] = request.split(' ')
  if (method === 'WATCH') {
    return watchStep(api, rest[0]!, pathOf(api, rest[1]!, answers, all), picks, all, others.accept)
  }
  const path = pathOf(api, rest.join(' '), answers, all)
  const given = typeof body === 'function' ? body(answers) : body
  const isBytes = given === undefined || given instanceof Uint8Array
  const text = isBytes
    ? given
    : inserted(filled(all, typeof given === 'string' ? given : JSON.stringify(given)), answers)
  const type = PATCHES[method]
  const headers = Object.fromEntries(
    Object.entries({ ...(user && { 'impersonate-user': user }), ...own })
      .map(([name, value]) => [name, inserted(filled(all, value), answers)]),
  )
  const send = async (): Promise<Answer> => {
    const answer = await api.request(type ? 'PATCH' : method as 'GET', path, text, {
      ...{ ...(type && { type }), ...others, headers },
    })
    return look && answer.status < 400 ? { ...answer, body: look(answer.body) } : answer
  }
  const textOfAnswer = (answer: Answer): string => neutral(all, render(answer, picks))
  let answer = await send()
  for (let tries = 1; tries < times || !textOfAnswer(answer).includes(until); tries++) {
    assert.ok(tries < MAX_TRIES, `${line} is never answered with ${until}`)
    answer = await send()
  }
  return {
    text: textOfAnswer(answer),
    answer: answer.body,
    full: neutral(
      all,
      answer.body.kind === 'Status'
        ? render(answer, '')
        : `${answer.status} ${stable(answer.body)}${warningsOf(answer)}`,
    ),
  }
}

async function watchStep(
  api: Api,
  end: string,
  path: string,
  picks: string,
  all: Names,
  accept: string | undefined,
): ReturnType<typeof runStep> {
  const watch = await api.watch(path, '', accept)
  const events: Body[] = []
  const isEnd = (): boolean => /^\d+$/.test(end) ? events.length >= Number(end) : nameOf(events.at(-1)) === end
  while (!isEnd()) {
    const event = await watch.next()
    if (!event) break
    events.push(event)
  }
  watch.cancel()
  const text = events.map(({ type, object }) => `${type} ${shown(object, picks)}`).join('; ')
  return { text: neutral(all, text), answer: events, full: neutral(all, events.map(stable).join('\n')) }
}

/** Returns an answer without what is random on the real server: which problem of an applied object it finds first. */
export function comparable(answer: string): string {
  return answer.replace(/(failed to create typed patch object .*?\)): .*$/s, '$1')
}

function nameOf(event: Body): string | undefined {
  return event?.object.metadata?.name
}

/** Returns the path of a line: its first segment is a short name. */
function pathOf(api: Api, path: string, answers: readonly Body[], names: Names): string {
  const places: Readonly<Record<string, string>> = {
    cm: api.configMaps,
    foos: api.foos,
    foos2: api.foos.replace('/v1/', '/v2/'),
    deploy: api.deployments,
    leases: api.leases,
    ns: `/api/v1/namespaces/${api.namespace}`,
  }
  const values = inserted(path, answers, encodeURIComponent)
  const [, first = '', others = ''] = /^([^/?]*)(.*)$/s.exec(filled(names, values))!
  return `${places[first] ?? first}${others}`
}

/** Inserts values of the answers before. */
function inserted(text: string, answers: readonly Body[], form: (value: string) => string = (value) => value): string {
  return text.replace(
    /\{(-?\d+)\.([a-z][^}]*)\}/gi,
    (_, index: string, keys: string) => form(String(at(answers.at(Number(index)), keys))),
  )
}

type Names = Readonly<Record<string, string>>

function filled(names: Names, text: string): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => names[name] ?? whole)
}

function at(value: Body, path: string): Body {
  return path.split(path.includes('|') ? '|' : '.').reduce((current, key) => current?.[key], value)
}

/** Replaces what differs between runs. */
function neutral(names: Names, text: string): string {
  const named = Object.entries(names).reduce((all, [name, value]) => all.replaceAll(value, `{${name}}`), text)
  return named.replace(/(?<!\{uid )[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '{uid}')
    .replace(
      /(current: |ResourceVersion: |resource version: |in record \(|in the precondition \(|ResourceVersion in object meta: )\d+/g,
      '$1{rv}',
    )
    // The five random letters of a generated name: scripts give such names a base with `gen`.
    .replace(/(gen[^a-z]?)[bcdfghjklmnpqrstvwxz2456789]{5}/gi, '$1{random}')
    .replace(/("resourceVersion":")\d+/g, '$1{rv}')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '{time}')
}

/** The end of a message that shows a difference of Go's structures, which the embedded API leaves out. */
const DIFFERENCE = /\n(@@ [^]*)?$/

/** Returns the text of an answer: its status, a Status or what `picks` names, and warnings. */
export function textOf(names: Names, answer: Answer, picks = ''): string {
  return neutral(names, render(answer, picks)).replace(DIFFERENCE, '')
}

function render(answer: Answer, picks: string): string {
  const { status, body } = answer
  const asked = status < 400 || picks === 'code' ? picks : ''
  return `${status} ${typeof body === 'string' ? body.trim() : shown(body, asked)}${warningsOf(answer)}`
}

function warningsOf({ headers }: Answer): string {
  const { warning } = headers
  return warning ? ` warnings: ${warning.replace(/299 - /g, '').replace(/\\"/g, "'")}` : ''
}

function shown(body: Body, picks: string): string {
  if (picks) {
    return picks.split(' ').map((path) => {
      const value = path === '.' ? withoutManagers(body) : at(body, path)
      // Equal versions and uids have the same number in a case.
      if (/(^|\.)(resourceVersion|uid)$/.test(path) && value) return `{${path.replace(/^.*\./, '')} ${value}}`
      return stable(path.endsWith('managedFields') && Array.isArray(value) ? asInOneSecond(value) : value) || '-'
    }).join(' ')
  }
  if (body.kind === 'Status') return statusText(body)
  if (Array.isArray(body.items)) {
    const { remainingItemCount: left, continue: next } = body.metadata
    const names = body.items.map((each: Body) => each.metadata.name)
    return [`${body.kind} [${names}]`, next && 'continue', left && `remaining ${left}`].filter(Boolean).join(' ')
  }
  return `${body.kind} ${body.metadata?.name ?? ''}`.trim()
}

function withoutManagers({ metadata, ...body }: Body): Body {
  return metadata ? { ...body, metadata: { ...metadata, managedFields: undefined } } : body
}

/**
 * Returns managedFields as the server orders those of one second: otherwise the order depends on when the second ends.
 */
function asInOneSecond(entries: readonly Body[]): Body[] {
  const keyOf = ({ operation, time, manager, apiVersion, subresource = '' }: Body): string =>
    [operation, time ? 1 : 0, manager, apiVersion, subresource].join('\n')
  return entries.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0)
}

/**
 * Renders a Status. Of an invalid request or a failure, clients read the status, the reason, and of each cause its reason and field:
 * these are compared, not the sentence; but for a strict decoding error, which names the fields in its sentence.
 */
export function statusText({ status, reason = '', message = '', details = {} }: Body): string {
  const { causes = [], ...rest } = details
  const sentence = ['', 'BadRequest', 'Invalid', 'InternalError'].includes(reason)
    ? /strict decoding error.*$/.exec(message)?.[0]
    : message
  const head = status === 'Success' ? 'Success' : [reason, sentence].filter(Boolean).join(': ')
  const fields = causes.map((cause: Body) => [cause.reason, cause.field].filter(Boolean).join(' '))
  // How often the same cause is repeated depends on the kind; the order of the fields of custom objects is random.
  return [head, Object.values(rest).join(' '), ...[...new Set<string>(fields)].sort()].filter(Boolean).join(' | ')
}

/** Returns the JSON of a body with sorted fields, without values that differ between runs. */
function stable(body: Body): string {
  return JSON.stringify(body, (key, value) => {
    if ((key === 'resourceVersion' || key === 'uid') && typeof value === 'string') return value === '' ? '' : '*'
    if (key === 'continue' && value) return '*'
    if (key === 'managedFields' && Array.isArray(value)) return value.map(stable).sort()
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1))
  }) ?? ''
}
