import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SERVICE_ACCOUNT } from '../../lib/config/in_cluster.ts'
import { loadConfig } from '../../lib/config/load.ts'
import { describeConfig } from '../../lib/config/loaded.ts'
import { ConfigError } from '../../lib/core/errors.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { CA, fakeEnvironment, valueOf } from './fake_environment.ts'

function kubeconfig(name: string): string {
  return JSON.stringify({
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name, namespace: `ns-${name}` } }],
    clusters: [{ name, cluster: { server: `https://${name}:6443` } }],
    users: [{ name, user: { token: `token-${name}` } }],
  })
}

const POD = {
  variables: { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' },
  files: {
    [`${SERVICE_ACCOUNT}/token`]: 'pod-token\n',
    [`${SERVICE_ACCOUNT}/ca.crt`]: CA,
    [`${SERVICE_ACCOUNT}/namespace`]: 'pod-ns\n',
  },
}

test('a named kubeconfig has priority over KUBECONFIG, the pod and the home folder', async () => {
  const environment = fakeEnvironment({
    variables: { ...POD.variables, KUBECONFIG: '/env', HOME: '/home/me' },
    files: {
      ...POD.files,
      '/named': kubeconfig('named'),
      '/env': kubeconfig('env'),
      '/home/me/.kube/config': kubeconfig('home'),
    },
  })
  const loaded = await loadConfig({ kubeconfig: '/named', environment })
  assert.equal(loaded.cluster.server, 'https://named:6443')
  assert.equal(loaded.cluster.namespace, 'ns-named')
  assert.equal((await loaded.cluster.credentials!()).token, 'token-named')
  assert.equal(describeConfig(loaded), 'kubeconfig /named, context "named"')
  assert.deepEqual(environment.reads, ['/named'])

  assert.equal((await loadConfig({ environment })).cluster.server, 'https://env:6443')
  delete environment.variables['KUBECONFIG']
  const pod = await loadConfig({ environment })
  assert.equal(pod.cluster.server, 'https://10.0.0.1:443')
  assert.equal(describeConfig(pod), 'in-cluster service account, namespace "pod-ns"')
  delete environment.variables['KUBERNETES_SERVICE_HOST']
  assert.equal((await loadConfig({ environment })).cluster.server, 'https://home:6443')
})

test('without any, the error has what was searched, where, and what to do', async () => {
  await assert.rejects(loadConfig({ environment: fakeEnvironment({ variables: { HOME: '/home/me' } }) }), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.equal(
      error.message,
      'Cannot find a cluster: KUBECONFIG is not set, KUBERNETES_SERVICE_HOST is not set, and /home/me/.kube/config does not exist; ' +
        'set KUBECONFIG, or run without a cluster by `kubeloop dev FILE`',
    )
    return true
  })
  await assert.rejects(
    loadConfig({ environment: fakeEnvironment({ variables: POD.variables }) }),
    /token does not exist \(automountServiceAccountToken: false\?\), and HOME is not set/,
  )
})

test('files in KUBECONFIG are merged: the first value wins, and some files may be missing', async () => {
  const [one, two] = [JSON.parse(kubeconfig('one')), JSON.parse(kubeconfig('two'))]
  delete one['current-context']
  two.clusters.push({ name: 'one', cluster: { server: 'https://shadowed' } })
  const environment = fakeEnvironment({
    variables: { KUBECONFIG: '/missing:/one:/two:/three' },
    files: { '/one': JSON.stringify(one), '/two': JSON.stringify(two), '/three': kubeconfig('three') },
  })
  const current = await loadConfig({ environment })
  assert.equal(current.cluster.server, 'https://two:6443')
  assert.equal(describeConfig(current), 'kubeconfig /one, /two, /three, context "two"')
  const chosen = await loadConfig({ environment, context: 'one' })
  assert.equal(chosen.cluster.server, 'https://one:6443')
})

test('a KUBECONFIG without an existing file is an error, without a fallback', async () => {
  const environment = fakeEnvironment({
    variables: { KUBECONFIG: '/a:/b', HOME: '/h' },
    files: { '/h/.kube/config': kubeconfig('home') },
  })
  await assert.rejects(loadConfig({ environment }), /KUBECONFIG names \/a, \/b, which does not exist/)
  await assert.rejects(
    loadConfig({ kubeconfig: '/a', environment }),
    /Cannot read kubeconfig \/a: there is no such file/,
  )
})

test('a kubeconfig that cannot be read is not taken for a missing one', async () => {
  for (
    const [code, variables, path] of [
      ['EACCES', { KUBECONFIG: '/a:/b' }],
      ['EPERM', { HOME: '/h' }],
      ['EACCES', {}, '/a'],
    ] as const
  ) {
    const fake = fakeEnvironment({ variables, files: { '/b': kubeconfig('b') } })
    const closed = /^(?:\/a|\/h\/\.kube\/config)$/
    const readText = (file: string): Promise<string> =>
      closed.test(file) ? Promise.reject(Object.assign(new Error('closed'), { code })) : fake.readText(file)
    await assert.rejects(
      loadConfig({ environment: { ...fake, readText }, ...(path && { kubeconfig: path }) }),
      /^ConfigError: Cannot read kubeconfig \/(?:a|h\/\.kube\/config): permission denied$/,
    )
  }
})

test('a variable that is not permitted to be read is an error, as it may name another cluster', async () => {
  const environment = {
    ...fakeEnvironment(),
    env: (name: string) => {
      throw new Error(`Cannot read environment variable ${name}: Deno needs --allow-env=${name}`)
    },
  }
  await assert.rejects(
    loadConfig({ environment }),
    (error) => error instanceof ConfigError && /--allow-env=KUBECONFIG$/.test(error.message),
  )
})

test('in a pod: the service account, its namespace, and an IPv6 address in brackets', async () => {
  const environment = fakeEnvironment({
    files: POD.files,
    variables: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' },
  })
  const { cluster } = await loadConfig({ environment })
  assert.equal(cluster.server, 'https://[fd00::1]:6443')
  assert.equal(cluster.namespace, 'pod-ns')
  assert.equal(await valueOf(cluster.ca), CA)
  assert.equal(await valueOf(cluster.token), 'pod-token')
  assert.equal(cluster.proxy, undefined)
  for (const name of ['HTTPS_PROXY', 'https_proxy']) {
    environment.variables[name] = 'http://corp:3128'
    assert.equal((await loadConfig({ environment })).cluster.proxy, 'http://corp:3128')
    delete environment.variables[name]
  }
})

test('in a pod: token and CA are read again after a minute, and at once after a 401', async () => {
  const environment = fakeEnvironment({ files: { ...POD.files }, variables: POD.variables })
  const { cluster } = await loadConfig({ environment })
  environment.files[`${SERVICE_ACCOUNT}/token`] = 'second'
  environment.files[`${SERVICE_ACCOUNT}/ca.crt`] = `${CA}${CA}`
  assert.equal(await valueOf(cluster.token), 'pod-token')
  environment.advance(60_000)
  assert.equal(await valueOf(cluster.token), 'second')
  assert.equal(await valueOf(cluster.ca), `${CA}${CA}`)
  environment.files[`${SERVICE_ACCOUNT}/token`] = 'third'
  assert.equal(await valueOf(cluster.token), 'second')
  environment.files[`${SERVICE_ACCOUNT}/ca.crt`] = `${CA}${CA}${CA}`
  assert.equal(await valueOf(cluster.ca), `${CA}${CA}`)
  cluster.invalidate!()
  assert.equal(await valueOf(cluster.token), 'third')
  assert.equal(await valueOf(cluster.ca), `${CA}${CA}${CA}`)
})

test('in a pod: the CAs alone are read again at once when the server is not trusted', async () => {
  const environment = fakeEnvironment({ files: { ...POD.files }, variables: POD.variables })
  const { cluster } = await loadConfig({ environment })
  environment.files[`${SERVICE_ACCOUNT}/token`] = 'second'
  environment.files[`${SERVICE_ACCOUNT}/ca.crt`] = `${CA}${CA}`
  cluster.invalidateCa!()
  assert.equal(await valueOf(cluster.token), 'pod-token')
  assert.equal(await valueOf(cluster.ca), `${CA}${CA}`)
})

test('in a pod: a token that cannot be read stays in use, with a warning', async () => {
  const environment = fakeEnvironment({ files: { ...POD.files }, variables: POD.variables })
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (...line: unknown[]) => void warnings.push(line) }
  const { cluster } = await loadConfig({ environment, log })
  delete environment.files[`${SERVICE_ACCOUNT}/token`]
  environment.advance(60_000)
  assert.equal(await valueOf(cluster.token), 'pod-token')
  assert.equal(warnings.length, 1)
  assert.doesNotMatch(JSON.stringify(warnings), /pod-token/)
})

test('in a pod: a broken service account is an error with the reason', async () => {
  for (
    const [name, text, message] of [['token', '', /token: it is empty/], [
      'ca.crt',
      'garbage',
      /ca\.crt: it is not a PEM certificate/,
    ]] as const
  ) {
    const environment = fakeEnvironment({
      variables: POD.variables,
      files: { ...POD.files, [`${SERVICE_ACCOUNT}/${name}`]: text },
    })
    await assert.rejects(
      loadConfig({ environment }),
      (error) => error instanceof ConfigError && message.test(error.message),
    )
  }
  const environment = fakeEnvironment({ variables: POD.variables, files: POD.files })
  await assert.rejects(loadConfig({ environment, context: 'dev' }), /Cannot use context "dev": this is a pod/)
})
