import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import type { Json } from '../../lib/apiserver/model/json.ts'
import { readYaml } from '../../lib/apiserver/wire/yaml.ts'
import { yamlText } from '../../lib/core/yaml.ts'
import { loadedLater } from '../../lib/apiserver/model/loaded_later.ts'
import { Suspension } from '../../lib/apiserver/model/suspension.ts'
import { tries } from '../tools/fuzz.ts'
import { mustRun } from '../tools/run_command.ts'

const CONFIG = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n'

function post(server: ApiServer, body: string, query = ''): ReturnType<ApiServer['handle']> {
  const headers = { 'content-type': 'application/yaml' }
  return server.handle({ method: 'POST', path: `/api/v1/namespaces/default/configmaps${query}`, headers, body })
}

/** The first request loads the parser. */
async function loadParser(): Promise<void> {
  assert.equal((await post(new ApiServer(), CONFIG)).status, 201)
}

/** Texts that need quotes, breaks and indentation more often than random ones. */
const TEXTS = fc.oneof(
  fc.string(),
  fc.array(fc.constantFrom('a', ' ', '\n', ': ', '#', "'", '"', '- ', '1', '.', 'yes', '\t', 'é', '\u{1F600}', '~'), {
    maxLength: 60,
  }).map((parts) => parts.join('')),
  fc.array(fc.constantFrom('word', 'x', "it's", '\t'), { minLength: 20, maxLength: 60 }).map((parts) =>
    parts.join(' ')
  ),
)

const VALUES = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    TEXTS,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(TEXTS.filter((key) => key.length < 100 && key !== '__proto__'), tie('value'), {
      maxKeys: 4,
    }) as fc.Arbitrary<Json>,
  ),
})).value

test('what is written as YAML is read as the same value', async () => {
  await loadParser()
  fc.assert(
    fc.property(VALUES, (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as Json
      const text = yamlText(plain)
      assert.deepEqual(readYaml(text), plain, text)
    }),
    { numRuns: tries(1000) },
  )
})

test('numbers, times and truth values are quoted when they are texts', () => {
  const texts = [
    '1',
    '-1',
    '0x1f',
    '0b1',
    '1e3',
    '.5',
    '1_0',
    'yes',
    'No',
    'ON',
    'y',
    '~',
    'null',
    '',
    '2020-01-01',
    '1:30',
    '.inf',
    '<<',
  ]
  for (const text of texts) assert.equal(yamlText([text]), `- '${text}'\n`)
  for (const text of ['v1', 'a-b', '1.2.3', '0xg', 'yesterday', '-', '--', '...x', 'a#b', 'a:b', 'http://x/?y=1']) {
    assert.match(yamlText([text]), /^- (?:\S+|'.*')\n$/)
  }
})

test('keys are sorted, lists begin where their key does, and no line is folded', () => {
  const long = 'word '.repeat(40).trim()
  assert.equal(yamlText({ b: [{ d: 1, c: long }], a: {} }), `a: {}\nb:\n- c: ${long}\n  d: 1\n`)
})

test('the first request of a process that wants YAML has its effect once', async () => {
  const server = new URL('../../lib/apiserver/mod.ts', import.meta.url).href
  const script = `const { ApiServer } = await import('${server}')
    const request = { method: 'POST', path: '/api/v1/namespaces', body: '{"metadata":{"name":"a"}}' }
    const headers = { 'content-type': 'application/json', accept: 'application/yaml' }
    const { status, body } = await new ApiServer().handle({ ...request, headers })
    console.log(status, (await body.text()).split('\\n')[1])`
  const deno = 'Deno' in globalThis
  const printed = await mustRun(process.execPath, deno ? ['eval', script] : ['--input-type=module', '-e', script])
  assert.equal(printed, '201 kind: Namespace\n')
})

test('a server reads YAML after it has read none, also when it restarts the request', async () => {
  const server = new ApiServer()
  const responses = await Promise.all([post(server, CONFIG), post(server, CONFIG.replace('name: a', 'name: b'))])
  assert.deepEqual(responses.map(({ status }) => status), [201, 201])
  assert.equal((await post(server, CONFIG)).status, 409)
})

test('a refused YAML body stores nothing, and hostile ones end', async () => {
  const server = new ApiServer()
  const bodies = [
    'a: &a [*a]',
    `${CONFIG}data: &a {b: *a}`,
    `x: ${'['.repeat(50_000)}`,
    `${'- '.repeat(20_000)}a`,
    `a: ${'&x '.repeat(1000)}`,
    '\u0000',
    '? {a: b}\n: c',
    `${CONFIG}__proto__: {a: b}`,
    `${CONFIG}data: {__proto__: x, constructor: y}`,
  ]
  for (const body of bodies) {
    const { status } = await post(server, body, '?dryRun=All')
    assert.ok(status === 400 || status === 201 || status === 422, `${status}: ${body.slice(0, 40)}`)
  }
  const list = await server.handle({ method: 'GET', path: '/api/v1/namespaces/default/configmaps' })
  assert.deepEqual((JSON.parse(await list.body.text()) as { items: unknown[] }).items, [])
})

test('a failed load fails one request, and the next one tries again', async () => {
  let attempts = 0
  const load = loadedLater(() => ++attempts === 1 ? Promise.reject(new Error('no file')) : Promise.resolve('module'))
  const run = async (): Promise<string> => {
    for (;;) {
      try {
        return load()
      } catch (error) {
        if (!(error instanceof Suspension)) throw error
        await error.work()
      }
    }
  }
  await assert.rejects(run(), /no file/)
  assert.equal(await run(), 'module')
  assert.equal(await run(), 'module')
  assert.equal(attempts, 2)
})
