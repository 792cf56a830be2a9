/** Random requests of every verb to three kinds, in the order in which they depend on each other, and watches of them. */
import type { Body } from '../api.ts'
import type { Chance } from '../../tools/chance.ts'
import { cm, comparable, deploy, foo, runStep, type StepBody } from '../transcript.ts'
import type { Drawn, Server } from './server.ts'

const STEPS = 80
const NAMES = ['a', 'b', 'c']
const ODD = [null, 5, 'x', true, [], {}, [{}], '', -1, 1.5, ['a', 'a'], { a: 'b' }]

type Fields = readonly (readonly [path: string, values: readonly unknown[]])[]

/** The fields of a kind with values that are mostly valid. */
const FIELDS: Readonly<Record<string, Fields>> = {
  cm: [
    ['data', [{ k: 'v' }, { k: 'w', l: '1' }, {}, { 'a b': 'c' }]],
    ['data.k', ['v', 'w', '']],
    ['data.l', ['1', '2']],
    ['binaryData', [{ b: 'eA==' }, {}]],
    ['immutable', [false, false, true]],
  ],
  foos: [
    ['spec', [{ size: 1 }, { size: 2, mode: 'slow' }, {}]],
    ['spec.size', [1, 2, 3, 99]],
    ['spec.mode', ['fast', 'slow', 'none']],
    ['spec.name', ['abc', 'abd', 'X']],
    ['spec.tags', [['a'], ['a', 'b'], ['b', 'c'], []]],
    ['spec.plain', [['x'], ['y', 'z'], []]],
    ['spec.parts', [
      [{ name: 'p', value: 1 }],
      [{ name: 'p', value: 2 }, { name: 'q' }],
      [{ name: 'q', protocol: 'UDP' }],
      [],
    ]],
    ['spec.labels', [{ a: '1' }, { b: '2' }, {}]],
    ['spec.labels.a', ['1', '2']],
    ['spec.free', [{ any: 1 }, { any: { thing: [1] } }]],
    ['spec.nested.deep', [1, 2]],
    ['spec.optional', ['x', null]],
    ['spec.when', ['2020-01-01T00:00:00Z']],
    ['spec.port', [80, 'http']],
    ['status', [{ ready: 1 }, { ready: 2, conditions: [{ type: 'A', status: 'True' }] }]],
    ['odd', [1]],
  ],
  deploy: [
    ['spec.replicas', [0, 1, 2, 5]],
    ['spec.paused', [true, false]],
    ['spec.minReadySeconds', [0, 5]],
    ['spec.strategy', [{ type: 'Recreate' }, { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } }]],
    ['spec.template.spec.containers', [
      [{ name: 'main', image: 'nginx:2' }],
      [{ name: 'main', image: 'nginx', env: [{ name: 'A', value: '1' }] }, { name: 'side', image: 'busy' }],
      [{ name: 'main', image: 'nginx', ports: [{ containerPort: 80 }] }],
    ]],
    ['spec.template.metadata.annotations', [{ a: 'b' }]],
    ['status', [{ replicas: 2 }, { conditions: [{ type: 'Available', status: 'True' }] }]],
  ],
}
const META: Fields = [
  ['metadata.labels', [{ team: 'x' }, { team: 'y', tier: 'z' }, {}, { 'a b': 'c' }]],
  ['metadata.labels.team', ['x', 'y']],
  ['metadata.annotations', [{ note: 'one' }, { note: 'two', other: '1' }]],
  ['metadata.finalizers', [['x.io/a'], ['x.io/a', 'x.io/b'], null]],
  ['metadata.ownerReferences', [[{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }], [{}]]],
  ['metadata.name', ['a', 'A', '']],
  ['metadata.namespace', ['{ns}', 'other']],
  ['metadata.odd', [1]],
]
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
const FORMS = [
  ...[undefined, undefined, undefined, METADATA, METADATA.replace('Metadata;', 'MetadataList;')],
  'application/json;as=Table;g=meta.k8s.io;v=v1',
]

/** Bodies that are no object of a kind. */
const BODIES: readonly string[] = [
  ...['', '[]', '"x"', '5', 'null', 'true', '{}', '[{}]', '- a', 'a: b', '---\n', '{"kind":5}', '{"metadata":5}'],
  ...[
    '{"apiVersion":[],"kind":"ConfigMap"}',
    '{"metadata":[]}',
    '{"metadata":{"name":5}}',
    '{"metadata":{"labels":5}}',
  ],
  ...['{"metadata":{"labels":{"a":5}}}', '{"metadata":{"ownerReferences":{}}}', '{"metadata":{"finalizers":"x"}}'],
  ...['{"data":[]}', '{"spec":5}', '{"spec":[]}'],
]

const SELECTORS: readonly string[] = [
  ...['team%3Dx', 'team!%3Dx', 'team', 'team+in+(x,y)', 'team+notin+(x)', 'a+b'].map((each) => `labelSelector=${each}`),
  ...['name%3Da', 'name!%3Da', 'x%3Da'].map((each) => `fieldSelector=metadata.${each}`),
  ...['fieldSelector=spec.mode%3Dslow', ''],
]
const VERSION = 'resourceVersion={-3.metadata.resourceVersion}'
const LISTS: readonly string[] = [
  ...SELECTORS,
  ...['limit=1', 'limit=2', 'limit=x', 'limit=1&continue={-1.metadata.continue}', 'resourceVersion=0'],
  ...[
    VERSION,
    `${VERSION}&resourceVersionMatch=Exact`,
    `${VERSION}&limit=1`,
    `${VERSION}&resourceVersionMatch=NotOlderThan`,
  ],
  ...['resourceVersionMatch=Exact', 'resourceVersion=99999999', 'sendInitialEvents=true'],
]
const OPTIONS: readonly string[] = [
  ...['', '', '', '', '', 'fieldValidation=Strict', 'fieldValidation=Ignore', 'dryRun=All', 'dryRun=x'],
  ...['fieldManager=one', 'fieldManager=two', 'fieldValidation=strict'],
]
const DELETES: readonly unknown[] = [
  ...[undefined, undefined, {}, { propagationPolicy: 'Foreground' }, { propagationPolicy: 'Orphan' }],
  ...[{ propagationPolicy: 'Background' }, { gracePeriodSeconds: 5 }, { dryRun: ['All'] }, { propagationPolicy: 'X' }],
  ...[{ preconditions: { uid: 'x' } }, { preconditions: { resourceVersion: '1' } }, { orphanDependents: true }],
]

type RandomStep = readonly [line: string, body?: StepBody, accept?: string | undefined]

function randomStep(chance: Chance): RandomStep {
  const kind = chance.pick(['cm', 'foos', 'foos', 'deploy'])
  const name = chance.pick(NAMES)
  const path = `${kind}/${name}${chance.pick(['', '', '', '', '/status'])}`
  const query = (...parts: readonly string[]): string => {
    const all = [...parts, chance.pick(OPTIONS)].filter(Boolean).join('&')
    return all && `?${all}`
  }
  const changes = (max: number): [string, unknown][] =>
    Array.from({ length: 1 + chance.below(max) }, () => {
      const [field, values] = chance.pick([...FIELDS[kind]!, ...FIELDS[kind]!, ...META])
      // The real server takes lists and objects for a date.
      return [field, chance.isIn(0.12) && field !== 'spec.when' ? chance.pick(ODD) : chance.pick(values)]
    })
  const method = chance.pick([
    'POST',
    'POST',
    'PUT',
    'PUT',
    'MERGE',
    'MERGE',
    'JSON',
    'STRATEGIC',
    'APPLY',
    'APPLY',
    'DELETE',
    'GET',
    'GET',
  ])
  const line = `${method} ${method === 'POST' ? kind : path}${query()}`
  if (method !== 'GET' && chance.isIn(0.06)) return [line, chance.pick(BODIES)]
  switch (method) {
    case 'POST': {
      const list = changes(3)
      return [line, () => changed(plain(kind, name), list)]
    }
    case 'PUT': {
      const list = changes(2)
      const version = chance.pick(['live', 'live', 'live', 'none', 'old'])
      return [line, (answers: readonly Body[]) => {
        const object = changed(latest(answers, kind, name) ?? plain(kind, name), list)
        if (version !== 'live' && object.metadata) delete object.metadata.resourceVersion
        if (version === 'old' && object.metadata) object.metadata.resourceVersion = '1'
        return object
      }]
    }
    case 'JSON': {
      const op = chance.pick(['add', 'replace', 'remove', 'test', 'copy'])
      return [
        line,
        changes(2).map(([field, value]) => ({
          op,
          path: `/${field.replaceAll('.', '/')}`,
          value,
          from: '/metadata/labels',
        })),
      ]
    }
    case 'APPLY': {
      const manager = `fieldManager=${chance.pick(['one', 'two', 'kubectl'])}${chance.pick(['', '&force=true'])}`
      const { apiVersion, kind: is } = plain(kind, name)
      const bare = { apiVersion, kind: is, metadata: { name } }
      return [`APPLY ${path}${query(manager)}`, changed(kind === 'deploy' ? plain(kind, name) : bare, changes(3))]
    }
    case 'DELETE':
      return chance.isIn(0.15)
        ? [`DELETE ${kind}${query(chance.pick(SELECTORS))}`, chance.pick(DELETES)]
        : [line, chance.pick(DELETES)]
    case 'GET':
      return [`GET ${chance.pick([kind, kind, path])}?${chance.pick(LISTS)}`, undefined, chance.pick(FORMS)]
    default:
      return [line, changed({}, changes(3))]
  }
}

function plain(kind: string, name: string): Body {
  return { cm, foos: foo, deploy }[kind]!(name)
}

const KINDS: Readonly<Record<string, string>> = { cm: 'ConfigMap', foos: 'Foo', deploy: 'Deployment' }

function latest(answers: readonly Body[], kind: string, name: string): Body | undefined {
  return sorted(answers.findLast((each) => each?.kind === KINDS[kind] && each.metadata?.name === name))
}

/** Returns a copy with sorted fields: of several errors, a server reports the first in the document. */
function sorted(value: Body): Body {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
}

function changed(object: Body, changes: readonly (readonly [string, unknown])[]): Body {
  const result = structuredClone(object)
  for (const [path, value] of changes) {
    const keys = path.split('.')
    let current = result
    for (const key of keys.slice(0, -1)) {
      if (typeof current[key] !== 'object' || current[key] === null || Array.isArray(current[key])) current[key] = {}
      current = current[key]
    }
    current[keys.at(-1)!] = structuredClone(value)
  }
  return result
}

/** What watches ask for, and the object whose event is the last. */
const WATCHES: readonly (readonly [query: string, end: string, accept?: string])[] = [
  ['', 'end-b'],
  ['labelSelector=team%3Dx', 'end-a'],
  ['labelSelector=team!%3Dx', 'end-b', METADATA],
  ['labelSelector=team,tier+notin+(z)&fieldSelector=metadata.name!%3Da', 'end-b'],
  ['fieldSelector=metadata.name!%3Db&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'end-b'],
]
/**
 * What differs between two servers: ages and descriptions in tables, empty lists of metadata, and managers, whose entries
 * depend on the second of a write.
 */
const VARIABLE =
  /"\d+s"|"description":"(?:[^"\\]|\\.)*",|"managedFields":\["(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*")*\],?/g
const comparableText = (full: string): string =>
  comparable(full).replace(VARIABLE, '').replace('"items":null', '"items":[]')

export async function* drawnSessions({ api }: Server, chance: Chance): AsyncGenerator<Drawn> {
  await api.prepare()
  const versions = [await versionsOf(api)]
  const answers: Body[] = []
  for (let at = 0; at < STEPS; at++) {
    const [line, body, accept] = randomStep(chance)
    const request = `${line} ${JSON.stringify(typeof body === 'function' ? body(answers) : body)}`
    const { full, answer } = await runStep(api, line, body, accept === undefined ? {} : { accept }, answers)
    answers.push(answer)
    yield { request, answer: comparableText(full) }
    if (at === STEPS >> 1) versions.push(await versionsOf(api))
  }
  for (const kind of Object.keys(KINDS)) {
    for (const [name, team] of [['end-a', 'x'], ['end-b', 'y']]) {
      const object = plain(kind, name!)
      await runStep(api, `POST ${kind}`, { ...object, metadata: { name, labels: { team } } }, undefined, [])
    }
    for (const version of versions) {
      for (const [query, end, accept] of WATCHES) {
        const request = `WATCH ${end} ${kind}?resourceVersion=${version[kind]}&${query}`
        const { full } = await runStep(api, request, undefined, accept === undefined ? {} : { accept }, [])
        yield { request, answer: comparableText(full) }
      }
    }
  }
}

async function versionsOf(api: Server['api']): Promise<Readonly<Record<string, string>>> {
  const versions: Record<string, string> = {}
  for (const kind of Object.keys(KINDS)) {
    versions[kind] = (await runStep(api, `GET ${kind}`, undefined, undefined, [])).answer.metadata.resourceVersion
  }
  return versions
}
