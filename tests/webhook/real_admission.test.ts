/** Admission on a real kube-apiserver: what it stores, and what kubectl prints. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../lib/async/clock.ts'
import type { Client } from '../../lib/client/client.ts'
import { encodeBase64 } from '../../lib/core/base64.ts'
import { ApiError } from '../../lib/core/errors.ts'
import type { ObjectOf } from '../../lib/core/resource.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { createAuthority } from '../../lib/runtime/net/certificates.ts'
import { type HttpsServer, serveHttps } from '../../lib/runtime/net/https_server.ts'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import type { Admission } from '../../lib/webhook/admission/admission.ts'
import { admissionHandler } from '../../lib/webhook/admission/admission_handler.ts'
import { admissionPath, type AdmissionPhase } from '../../lib/webhook/admission/admission_path.ts'
import { type CommandResult, runCommand } from '../tools/run_command.ts'
import { Site } from './admitting.ts'
import { noPlane } from '../tools/real_plane.ts'

const admission: Admission<ObjectOf<typeof Site>> = {
  default(draft) {
    const { hosts = ['STATED.by.default'] } = draft.spec as { hosts?: string[] }
    draft.spec.hosts = hosts.map((host) => host.toLowerCase())
    const spec = draft.spec as { big?: number; copy?: number }
    if (spec.big !== undefined) spec.copy = spec.big
  },
  validate(object, { operation, old, warn, user }) {
    const { name, uid } = object.metadata
    warn(`${operation} ${old?.spec.hosts.join() ?? ''} by ${user.username}`)
    if (name === 'throwing') throw new Error('boom')
    if (name === 'forbidden') throw new ApiError('only admins', { reason: 'Forbidden' }, { code: 403 })
    assert.ok(uid && name, 'an object is validated with its name and uid')
    if (operation === 'DELETE' && name === 'kept') return [{ field: 'metadata', message: 'is in use' }]
    return object.spec.hosts.flatMap((host, i) =>
      host.includes('_') ? [{ field: `spec.hosts[${i}]`, message: `"${host}" has an underscore` }] : []
    )
  },
}

type Running = Awaited<ReturnType<typeof start>>

test(
  'a real API server calls the functions, and kubectl shows their answers',
  { skip: noPlane, timeout: 120_000 },
  async () => {
    const envtest = await startEnvtest()
    const folder = mkdtempSync(join(tmpdir(), 'admission-'))
    const stopping: (() => Promise<void>)[] = []
    try {
      const running = await start(envtest, folder, stopping)
      await objectsAreDefaulted(running)
      await answersAreShown(running)
      await storedObjectsCanGo(running)
    } finally {
      for (const stop of stopping) await stop()
      await envtest.stop()
      rmSync(folder, { recursive: true })
    }
  },
)

async function start(envtest: Envtest, folder: string, stopping: (() => Promise<void>)[]) {
  writeFileSync(join(folder, 'config'), envtest.kubeconfig(), { mode: 0o600 })
  const kubectl = (args: string, input: object | string = ''): Promise<CommandResult> => {
    const all = ['--kubeconfig', join(folder, 'config'), `--cache-dir=${folder}`, ...args.split(' ')]
    return runCommand(envtest.kubectl, all, { input: typeof input === 'string' ? input : JSON.stringify(input) })
  }
  const authority = await createAuthority()
  const { server, port } = await serve(
    await authority.issue({
      commonName: 'webhooks',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    }),
  )
  stopping.push(() => server.close())
  await done(kubectl('apply -f -', crd(true)))
  await done(kubectl('wait --for=condition=Established crd/sites.web.example.dev'))
  const hook = (phase: AdmissionPhase): object => ({
    name: `${phase}.web.example.dev`,
    admissionReviewVersions: ['v1', 'v1beta1'],
    sideEffects: 'None',
    clientConfig: {
      url: `https://127.0.0.1:${port}${admissionPath(phase, Site)}`,
      caBundle: encodeBase64(authority.ca),
    },
    rules: [{
      apiGroups: ['web.example.dev'],
      apiVersions: ['v1'],
      resources: ['sites', 'sites/status'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
    }],
  })
  const install = async (): Promise<void> => {
    for (const [kind, phase] of [['Mutating', 'mutate'], ['Validating', 'validate']] as const) {
      await done(kubectl('apply -f -', {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: `${kind}WebhookConfiguration`,
        metadata: { name: phase },
        webhooks: [hook(phase)],
      }))
    }
    // The API server uses a configuration some milliseconds after it was written.
    for (let tries = 0; tries < 100; tries++) {
      const probe = await kubectl('create --dry-run=server -o json -f -', site('probe', { hosts: ['PROBE'] }))
      if (/"probe"\n/.test(probe.stdout) && probe.stderr.includes('Warning: CREATE')) return
    }
    throw new Error('the API server did not call the webhooks')
  }
  await install()
  return {
    kubectl,
    /** Writes the webhook configurations, and waits until the API server uses them. */
    install,
  }
}

async function serve(pair: { cert: string; key: string }): Promise<{ server: HttpsServer; port: number }> {
  const dependencies = { client: () => ({}) as Client, clock: systemClock, log: silentLog }
  const handlers = new Map((['mutate', 'validate'] as const).map((phase) => [
    admissionPath(phase, Site),
    admissionHandler(phase, Site, [admission], dependencies),
  ]))
  const server = await serveHttps({
    ...pair,
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 20 * 2 ** 20,
    refuseBody: () => assert.fail('too large'),
    onError: (error) => assert.fail(String(error)),
    async handle({ path, headers, body, signal }) {
      const contentType = headers['content-type'] ?? ''
      const answer = await handlers.get(path.split('?', 1)[0]!)!({ contentType, body, signal })
      const bytes = new TextEncoder().encode(answer.body)
      async function* chunks(): AsyncGenerator<Uint8Array> {
        yield bytes
      }
      return {
        status: answer.status,
        headers: { 'content-type': 'application/json' },
        body: { [Symbol.asyncIterator]: chunks, cancel() {} },
      }
    },
  })
  return { server, port: server.port }
}

/** Returns the definition with fields that the operator's schema does not know, and a looser rule if not `strict`. */
function crd(strict: boolean): object {
  const text = JSON.stringify(Site.definition.crd)
  const more = '"properties":{"newer":{"type":"string"},"big":{"type":"integer","format":"int64"},' +
    '"copy":{"type":"integer","format":"int64"},"hosts":{'
  const known = text.replace('"properties":{"hosts":{', more)
  assert.notEqual(known, text)
  return JSON.parse(strict ? known : known.replace('"minItems":1', '"minItems":0')) as object
}

function site(name: string, spec: object, metadata: object = {}): object {
  return { apiVersion: 'web.example.dev/v1', kind: 'Site', metadata: { name, namespace: 'default', ...metadata }, spec }
}

/** Returns the output of a command that must succeed. */
async function done(command: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await command
  assert.equal(code, 0, stderr)
  return stdout + stderr
}

/** Returns what a command that must fail wrote to standard error, without the place of the object. */
async function refused(command: Promise<CommandResult>): Promise<string> {
  const { code, stderr } = await command
  assert.equal(code, 1)
  return stderr.replace('error when creating "STDIN": ', '')
}

async function objectsAreDefaulted({ kubectl }: Running): Promise<void> {
  const object = site('a', { hosts: ['A.example'], newer: 'kept' })
  const text = JSON.stringify(object).replace('"newer"', '"big":9007199254740993,"newer"')
  assert.match(
    await done(kubectl('create -f -', text)),
    /site\.web\.example\.dev\/a created\nWarning: CREATE {2}by envtest-admin/,
  )
  const stored = await done(kubectl('get site a -o jsonpath={.spec}'))
  assert.match(stored, /"big":9007199254740993,/)
  assert.match(stored, /"copy":9007199254740993,/)
  const { hosts, newer, tls } = JSON.parse(stored) as Record<string, unknown>
  assert.deepEqual([hosts, newer, tls], [['a.example'], 'kept', { mode: 'off' }])
  const patch = ['--type=merge', '-p', '{"spec":{"hosts":["B.example"]}}'].join(' ')
  assert.match(await done(kubectl(`patch site a ${patch}`)), /patched\nWarning: UPDATE a\.example by envtest-admin/)
  assert.equal(await done(kubectl('get site a -o jsonpath={.spec.hosts[0]}')), 'b.example')
  const status = '--subresource=status --type=merge -p {"status":{"ready":true}}'
  assert.match(await done(kubectl(`patch site a ${status}`)), /patched\nWarning: UPDATE b\.example/)
  // The schema requires it, and is checked after the call.
  await done(kubectl('create -f -', site('without-hosts', {})))
  assert.equal(await done(kubectl('get site without-hosts -o jsonpath={.spec.hosts[0]}')), 'stated.by.default')
  const generated = { ...site('', { hosts: ['x'] }), metadata: { generateName: 'gen-', namespace: 'default' } }
  assert.match(await done(kubectl('create -f -', generated)), /gen-\w+ created/)
}

async function answersAreShown({ kubectl }: Running): Promise<void> {
  const warning = 'Warning: CREATE  by envtest-admin\n'
  const create = (name: string, ...hosts: string[]) => refused(kubectl('create -f -', site(name, { hosts })))
  assert.equal(
    await create('b', 'a_b', 'c', 'c_d'),
    `${warning}The Site "b" is invalid: \n* spec.hosts[0]: "a_b" has an underscore\n* spec.hosts[2]: "c_d" has an underscore\n`,
  )
  assert.equal(
    await create('b', 'a_b'),
    `${warning}The Site "b" is invalid: spec.hosts[0]: "a_b" has an underscore\n`,
  )
  // The schema's own causes come before those of the server, which would check it after the mutating webhooks.
  assert.equal(
    await create('b', ''),
    'The Site "b" is invalid: spec.hosts[0]: Too small: expected string to have >=1 characters\n',
  )
  assert.equal(
    await create('throwing', 'x'),
    `${warning}Error from server (InternalError): admission webhook "validate.web.example.dev" denied the request: ` +
      'Cannot validate Site "default/throwing": boom\n',
  )
  assert.equal(
    await create('forbidden', 'x'),
    `${warning}Error from server (Forbidden): admission webhook "validate.web.example.dev" denied the request: only admins\n`,
  )
  await done(kubectl('create -f -', site('kept', { hosts: ['x'] })))
  assert.equal(
    await refused(kubectl('delete site kept')),
    'Warning: DELETE  by envtest-admin\nThe Site "kept" is invalid: metadata: is in use\n',
  )
  assert.match(await done(kubectl('delete site a')), /"a" deleted/)
}

/** A stored object that a later schema refuses can be labelled, freed and deleted. */
async function storedObjectsCanGo({ kubectl, install }: Running): Promise<void> {
  await done(kubectl('delete mutatingwebhookconfiguration/mutate validatingwebhookconfiguration/validate'))
  await done(kubectl('apply -f -', crd(false)))
  const object = site('old', { hosts: [] }, { finalizers: ['example.dev/x'] })
  // The API server uses a changed schema some milliseconds after it was written.
  let created = await kubectl('create -f -', object)
  for (let tries = 0; created.code !== 0 && tries < 100; tries++) created = await kubectl('create -f -', object)
  assert.equal(created.code, 0, created.stderr)
  await done(kubectl('apply -f -', crd(true)))
  await install()
  assert.doesNotMatch(await done(kubectl('label site old team=a')), /Warning/)
  // As the server, which checks no limit of an unchanged field.
  await done(kubectl('patch site old --type=merge -p {"spec":{"issuer":"x"}}'))
  const changed = kubectl('patch site old --type=merge -p {"spec":{"hosts":[""]}}')
  assert.match(await refused(changed), /The Site "old" is invalid: spec\.hosts\[0\]: Too small/)
  await done(kubectl('delete site old --wait=false'))
  await done(kubectl('patch site old --type=merge -p {"metadata":{"finalizers":null}}'))
  assert.match((await kubectl('get site old')).stderr, /not found/)
}
