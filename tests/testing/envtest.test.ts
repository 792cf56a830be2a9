import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { get, type RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ClusterConfig } from '../../lib/core/cluster_config.ts'
import { ConfigMap, Pod } from 'kubeloop/kinds'
import { type Envtest, startEnvtest } from '../../lib/testing/envtest/envtest.ts'
import { mustRun } from '../tools/run_command.ts'
import { withFolder } from '../tools/folder.ts'
import { noPlane } from '../tools/real_plane.ts'

test('without KUBEBUILDER_ASSETS, or with programs missing, the error has a remedy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'envtest-empty-'))
  const before = process.env['KUBEBUILDER_ASSETS']
  try {
    writeFileSync(join(folder, 'etcd'), '', { mode: 0o755 })
    await assert.rejects(
      startEnvtest({ assets: folder, controllerManager: true }),
      (error: Error) =>
        error.message.startsWith(
          `Cannot start the control plane: "${folder}" has no kube-apiserver, kubectl, kube-controller-manager; put`,
        ),
    )
    delete process.env['KUBEBUILDER_ASSETS']
    await assert.rejects(
      startEnvtest(),
      /^Error: Cannot start the control plane: KUBEBUILDER_ASSETS is not set; set it to a folder/,
    )
  } finally {
    if (before !== undefined) process.env['KUBEBUILDER_ASSETS'] = before
    rmSync(folder, { recursive: true })
  }
})

test('if a program ends or is never ready, the start fails with its output and removes everything', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'envtest-broken-'))
  const { TMPDIR } = process.env
  const script = (name: string, text: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  try {
    process.env['TMPDIR'] = folder
    for (const name of ['etcd', 'kube-apiserver', 'kubectl']) script(name, 'exit 0')
    script('etcd', 'echo no space left on moon >&2; exit 3')
    await assert.rejects(
      startEnvtest({ assets: folder }),
      /^Error: Cannot start etcd: it ended with code 3; its last output:\nno space left on moon$/,
    )
    script('etcd', `echo $$ > ${folder}/pid; exec sleep 600`)
    await assert.rejects(
      startEnvtest({ assets: folder, startTimeoutMs: 300 }),
      /^Error: Cannot start etcd: it was not ready after 0.3 s; its last output:\n$/,
    )
    assert.equal(isAlive(Number(readFileSync(join(folder, 'pid'), 'utf8'))), false)
    await assert.rejects(startEnvtest({ assets: folder, dataDir: join(folder, 'etcd') }), /EEXIST|ENOTDIR|exists/)
    assert.deepEqual(readdirSync(folder).sort(), ['etcd', 'kube-apiserver', 'kubectl', 'pid'])
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
    rmSync(folder, { recursive: true })
  }
})

test(
  'a control plane serves its users, survives a crash of its API server, and leaves nothing behind',
  { skip: noPlane, timeout: 120_000 },
  async () => {
    const lines: string[] = []
    const log = { debug() {}, info: (line: string) => void lines.push(line), warn() {}, error() {} }
    const envtest = await startEnvtest({ log })
    const folder = folderWith(String(envtest.tokenConfig.token))
    try {
      // Credentials: certificate, token, kubectl with a kubeconfig, a user without rights, and none.
      assert.equal((await ask(envtest.config, '/api/v1/namespaces/default')).status, 200)
      assert.equal((await ask(envtest.tokenConfig, '/api/v1/namespaces/default')).status, 200)
      assert.equal(
        (await ask({ server: envtest.config.server, ca: envtest.config.ca, token: 'wrong' }, '/api')).status,
        401,
      )
      const alice = await envtest.addUser('alice', ['devs'])
      const refused = await ask(alice, '/api/v1/namespaces/default/secrets')
      assert.equal(refused.status, 403)
      assert.match(refused.text, /User \\"alice\\" cannot list resource \\"secrets\\"/)
      assert.match(
        await kubectl(
          envtest,
          envtest.kubeconfig(alice),
          'auth',
          'whoami',
          '-o',
          'jsonpath={.status.userInfo.username} {.status.userInfo.groups}',
        ),
        /^alice \["devs","system:authenticated"\]$/,
      )
      for (const config of [envtest.config, envtest.tokenConfig]) {
        assert.equal(await kubectl(envtest, envtest.kubeconfig(config), 'auth', 'can-i', '*', '*'), 'yes')
      }

      // Data survives the crash, with the same address and credentials.
      await envtest.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'kept' }, data: { a: 'b' } })
      assert.deepEqual(lines, [`The control plane is ready: ${envtest.config.server}`])
      await envtest.killApiServer()
      await assert.rejects(ask(envtest.config, '/readyz'), { code: 'ECONNREFUSED' })
      await envtest.restartApiServer()
      assert.equal(
        await kubectl(envtest, envtest.kubeconfig(), 'get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}'),
        'b',
      )
      assert.match(envtest.output('kube-apiserver', 500), /Version: v1\./)

      // Other users of this machine may not read tokens and keys.
      assert.equal(statSync(folder).mode & 0o777, 0o700)
      for (const name of readdirSync(folder).filter((each) => /\.(csv|key|crt|log)$/.test(each))) {
        assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name)
      }
    } finally {
      await envtest.stop()
    }
    await envtest.stop()
    await assert.rejects(ask(envtest.config, '/readyz'), { code: 'ECONNREFUSED' })
    await assert.rejects(envtest.restartApiServer(), /Cannot restart kube-apiserver: the control plane was stopped/)
    assert.equal(existsSync(folder), false)
  },
)

test(
  'kept data is used at the next start, and the garbage collector runs if enabled',
  { skip: noPlane, timeout: 120_000 },
  async () => {
    await withFolder(async (data) => {
      const first = await startEnvtest({ dataDir: data })
      try {
        await kubectl(first, first.kubeconfig(), 'create', 'configmap', 'owner')
      } finally {
        await first.stop()
      }
      const second = await startEnvtest({
        dataDir: data,
        controllerManager: ['garbage-collector-controller'],
        // A flag with a list, which is not added to the default one.
        extraArgs: { apiServer: ['--default-watch-cache-size=0', '--disable-admission-plugins='] },
      })
      try {
        const spec = { containers: [{ name: 'c', image: 'i' }] }
        const created = second.client.create(Pod, { metadata: { namespace: 'default', name: 'a' }, spec })
        await assert.rejects(created, /serviceaccount "default" not found/)
        const config = second.kubeconfig()
        const uid = await kubectl(second, config, 'get', 'configmap', 'owner', '-o', 'jsonpath={.metadata.uid}')
        assert.match(uid, /^[0-9a-f-]{36}$/)
        await kubectlApply(second, config, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: {
            name: 'dependent',
            namespace: 'default',
            ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }],
          },
        })
        await kubectl(second, config, 'delete', 'configmap', 'owner')
        await kubectl(second, config, 'wait', '--for=delete', 'configmap/dependent', '--timeout=60s')
      } finally {
        await second.stop()
      }
    })
  },
)

test('when its process is killed, the control plane ends too', { skip: noPlane, timeout: 120_000 }, async () => {
  const script = new URL('files/start_envtest.ts', import.meta.url).pathname
  const arguments_ = 'Deno' in globalThis ? ['run', '-A', '--no-check', script] : [script]
  const child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const [server = '', token = ''] = await new Promise<string[]>((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (text: string) => resolve(text.trim().split(' ')))
    child.once('exit', (code) => reject(new Error(`the script ended with ${code}`)))
  })
  const left = folderWith(token)
  child.kill('SIGKILL')
  await exited
  await eventually(async () => {
    await assert.rejects(ask({ server }, '/readyz'), { code: 'ECONNREFUSED' })
    assert.equal(existsSync(left), false)
  })
})

/** Returns the control plane's folder: others may run at the same time. */
function folderWith(token: string): string {
  const found = readdirSync(tmpdir()).filter((name) => name.startsWith('kubeloop-envtest-')).map((name) =>
    join(tmpdir(), name)
  )
    .filter((path) =>
      existsSync(join(path, 'tokens.csv')) && readFileSync(join(path, 'tokens.csv'), 'utf8').startsWith(`${token},`)
    )
  assert.equal(found.length, 1)
  return found[0] ?? ''
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A killed child of another process may be a zombie until its parent reads its exit code.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Polls until processes end: the guard that kills them belongs to a process that has ended, so it cannot be awaited. */
async function eventually(check: () => Promise<void>): Promise<void> {
  for (let left = 100;; left--) {
    try {
      return await check()
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

function ask(config: ClusterConfig, path: string): Promise<{ status: number | undefined; text: string }> {
  const options: RequestOptions = { agent: false, rejectUnauthorized: config.ca !== undefined }
  if (typeof config.ca === 'string') options.ca = config.ca
  if (config.cert !== undefined && config.key !== undefined) {
    Object.assign(options, { cert: config.cert, key: config.key })
  }
  if (typeof config.token === 'string') options.headers = { authorization: `Bearer ${config.token}` }
  return new Promise((resolve, reject) => {
    get(`${config.server}${path}`, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part)).on(
        'end',
        () => resolve({ status: answer.statusCode, text }),
      )
        .on('error', reject)
    }).on('error', reject)
  })
}

async function kubectl(envtest: Envtest, kubeconfig: string, ...args: readonly string[]): Promise<string> {
  return await withFolder(async (folder) => {
    writeFileSync(join(folder, 'config'), kubeconfig, { mode: 0o600 })
    return (await mustRun(envtest.kubectl, ['--kubeconfig', join(folder, 'config'), `--cache-dir=${folder}`, ...args]))
      .trim()
  })
}

async function kubectlApply(envtest: Envtest, kubeconfig: string, object: unknown): Promise<void> {
  await withFolder(async (folder) => {
    writeFileSync(join(folder, 'object.json'), JSON.stringify(object))
    await kubectl(envtest, kubeconfig, 'apply', '-f', join(folder, 'object.json'))
  })
}
