/** Random kubeconfigs, answers of plugins and folders of service accounts: an error names its place, and no secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { load as loadYaml } from 'js-yaml'
import { SERVICE_ACCOUNT } from '../../lib/config/in_cluster.ts'
import { loadConfig } from '../../lib/config/load.ts'
import { describeConfig, type LoadedCluster } from '../../lib/config/loaded.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { yamlText } from '../../lib/core/yaml.ts'
import type { Log } from '../../lib/observe/log.ts'
import { tries } from '../tools/fuzz.ts'
import { mutated, mutatedText } from '../tools/hostile.ts'
import { CA, CERT, type FakeEnvironment, fakeEnvironment, KEY, valueOf } from './fake_environment.ts'

/** Part of each secret. */
const SECRET = 'hunter2'
const FILE = '/etc/kube/config'
const V1 = 'client.authentication.k8s.io/v1'
const secretPem = (text: string): string => text.replace('\n', `\n${SECRET}\n`)
const USERS = {
  token: { token: SECRET },
  file: { tokenFile: 'token' },
  basic: { username: 'me', password: SECRET, as: 'other', 'as-groups': ['g'], 'as-user-extra': { a: ['b'] } },
  pair: { 'client-certificate-data': btoa(CERT), 'client-key-data': btoa(secretPem(KEY)) },
  files: { 'client-certificate': 'crt', 'client-key': '/abs/key' },
  plugin: {
    exec: {
      ...{ apiVersion: V1, command: 'login', args: ['--password', SECRET], interactiveMode: 'Never' },
      ...{ env: [{ name: 'A', value: SECRET }], provideClusterInfo: true, installHint: 'install it' },
    },
  },
}
const CONFIG = {
  apiVersion: 'v1',
  'current-context': 'token',
  contexts: Object.keys(USERS).map((user) => ({ name: user, context: { cluster: 'c', user, namespace: 'n' } })),
  clusters: [{
    name: 'c',
    cluster: { server: 'https://api:6443', 'certificate-authority': 'ca', 'proxy-url': `http://a:${SECRET}@proxy:1` },
  }],
  users: Object.entries(USERS).map(([name, user]) => ({ name, user })),
}
const ANSWER = {
  kind: 'ExecCredential',
  apiVersion: V1,
  status: {
    ...{ token: SECRET, clientCertificateData: CERT, clientKeyData: secretPem(KEY) },
    expirationTimestamp: '2026-11-21T10:05:00Z',
  },
}
const FILES = { ca: CA, token: `${SECRET}\n`, crt: CERT, key: secretPem(KEY) }
/** The fields whose values no error may have. */
const SECRETS = /^(?:token|password|.*-data|value|args|proxy-url)$/

/** Returns whether a document has the secret in a place whose text may be in an error, such as a name. */
function exposes(value: unknown, key = ''): boolean {
  if (SECRETS.test(key)) return false
  if (typeof value === 'string') return value.includes(SECRET)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, each]) =>
    name.includes(SECRET) || exposes(each, Array.isArray(value) ? key : name)
  )
}

function parsed(text: string): unknown {
  try {
    return loadYaml(text)
  } catch {
    return undefined
  }
}

/** Loads a cluster, and reads all its parts. Resolves with it and its texts for users, errors among them. */
async function outcome(
  environment: FakeEnvironment,
  options: { readonly kubeconfig?: string; readonly context?: string },
) {
  const texts: string[] = []
  const at = (message: string, fields?: object): void => void texts.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: at, info: at, warn: at, error: at }
  let loaded: LoadedCluster | undefined
  let credentials
  try {
    loaded = await loadConfig({ environment, log, ...options })
    await valueOf(loaded.cluster.ca)
    credentials = await loaded.cluster.credentials?.() ?? { token: await valueOf(loaded.cluster.token) }
    texts.push(describeConfig(loaded), JSON.stringify(loaded.cluster.origin))
  } catch (error) {
    assert.ok(error instanceof ConfigError, String((error as Error).stack))
    assert.match(error.message, /^Cannot (?:read|use|find|choose|get|run|sign in)/)
    texts.push(error.message, String((error.cause as Error | undefined)?.message ?? ''))
    texts.push(`error ${error.message}`)
  }
  if (credentials?.token !== undefined) assert.match(credentials.token, /^[\x21-\x7e]+$/)
  return { loaded, credentials, texts, error: texts.find((text) => text.startsWith('error ')) }
}

/** What stands before or after a secret that was written by hand. */
const odd = fc.tuple(
  fc.constantFrom('', '!', '!<', '*', '&', '"', "'", '|', '@'),
  fc.string({ unit: fc.constantFrom(...`"'<>^|%:# {}[],\	é`), maxLength: 2 }),
).map(([first, rest]) => first + rest)
const yaml = yamlText(CONFIG)
const documents = fc.oneof(
  mutated(CONFIG).map((document) => JSON.stringify(document)),
  mutated(CONFIG).map((document) => yamlText(document as object)),
  mutatedText(yaml, JSON.stringify(CONFIG)),
  // Secrets without quotes, as written by hand, and with characters that no header has.
  fc.tuple(odd, odd).map(([before, after]) => yaml.replaceAll(SECRET, () => before + SECRET + after)),
  fc.tuple(odd, odd).map(([before, after]) => yaml.replaceAll(SECRET, () => JSON.stringify(before + SECRET + after))),
)

test('fuzz: a changed kubeconfig is read, or refused with its file and field and without its secrets', async () => {
  let read = 0
  await fc.assert(
    fc.asyncProperty(documents, fc.constantFrom(undefined, ...Object.keys(USERS)), async (text, context) => {
      const files = Object.fromEntries(Object.entries(FILES).map(([name, each]) => [`/etc/kube/${name}`, each]))
      const environment = fakeEnvironment({
        files: { ...files, '/abs/key': FILES.key, [FILE]: text },
        programs: { login: () => ({ code: 0, stdout: JSON.stringify(ANSWER), stderr: '' }) },
      })
      const { texts, error } = await outcome(environment, { kubeconfig: FILE, ...(context && { context }) })
      if (error === undefined) read++
      else assert.match(error, /\/etc\/kube\/|\/abs\//)
      if (texts.some((each) => each.includes(SECRET))) assert.ok(exposes(parsed(text)), texts.join('\n'))
    }),
    { numRuns: tries(150, 'everywhere') },
  )
  assert.ok(read > 10, `${read} were read`)
})

test('fuzz: the output of a plugin is used, or refused with the place of the plugin; the plugin is not run in a loop', async () => {
  const outputs = fc.oneof(
    mutated(ANSWER).map((answer) => JSON.stringify(answer)),
    mutatedText(JSON.stringify(ANSWER), SECRET),
    fc.constantFrom('2020-01-01T00:00:00Z', '+275760-09-13', 'soon').map((expirationTimestamp) =>
      JSON.stringify({ ...ANSWER, status: { token: SECRET, expirationTimestamp } })
    ),
    odd.map((text) => JSON.stringify({ ...ANSWER, status: { token: text + SECRET } })),
  )
  let used = 0
  await fc.assert(
    fc.asyncProperty(outputs, fc.constantFrom(0, 0, 0, 1, undefined), async (stdout, code) => {
      const environment = fakeEnvironment({
        files: { [FILE]: JSON.stringify({ ...CONFIG, 'current-context': 'plugin' }), '/etc/kube/ca': CA },
        programs: { login: () => ({ code, stdout, stderr: 'noise' }) },
      })
      const { texts, error, loaded } = await outcome(environment, { kubeconfig: FILE })
      if (error === undefined) used++
      else assert.match(error, /plugin "login"/)
      assert.ok(!texts.some((each) => each.includes(SECRET)), texts.join('\n'))
      await loaded!.cluster.credentials!().catch(() => {})
      assert.deepEqual(environment.runs, ['login'])
    }),
    { numRuns: tries(150, 'everywhere') },
  )
  assert.ok(used > 10, `${used} were used`)
})

test('fuzz: the files of a service account are used, or refused with the name of one', async () => {
  const file = (text: string): fc.Arbitrary<string | undefined> =>
    fc.oneof(fc.constant(text), mutatedText(text), fc.constant(undefined))
  await fc.assert(
    fc.asyncProperty(file(SECRET), file(secretPem(CA)), file('ns'), async (token, ca, namespace) => {
      const files = Object.entries({ token, 'ca.crt': ca, namespace }).filter(([, text]) => text !== undefined)
      const environment = fakeEnvironment({
        files: Object.fromEntries(files.map(([name, text]) => [`${SERVICE_ACCOUNT}/${name}`, text!])),
        variables: { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' },
      })
      const { texts, error, loaded, credentials } = await outcome(environment, {})
      if (error !== undefined) assert.match(error, new RegExp(`${SERVICE_ACCOUNT}/(?:token|ca\\.crt|namespace)`))
      else {
        assert.match(ca!, /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/)
        assert.deepEqual([credentials!.token, await valueOf(loaded!.cluster.ca)], [token!.trim(), ca])
        assert.equal(loaded!.cluster.namespace, namespace?.trim() || undefined)
      }
      assert.ok(!texts.some((each) => each.includes(SECRET)), texts.join('\n'))
    }),
    { numRuns: tries(100) },
  )
})
