/** The real API server takes the manifests of every example, and an operator runs with the rights in them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { type ClusterConfig, type Operator } from 'kubeloop'
import { Deployment } from 'kubeloop/kinds'
import { kustomizeFiles } from '../../lib/cli/deploy/kustomize.ts'
import { manifestText } from '../../lib/cli/manifests.ts'
import { describeWebhooks } from '../../lib/operator/webhooks/describe.ts'
import { hasWebhooks } from '../../lib/operator/description/description.ts'
import { usedResources } from '../../lib/operator/description/used_kinds.ts'
import { Latch } from '../../lib/async/latch.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import sample, { Foo } from '../../examples/1_sample_controller.ts'
import replicator from '../../examples/2_secret_replicator.ts'
import { buckets } from '../../examples/3_external_bucket.ts'
import pools from '../../examples/4_pools_and_claims.ts'
import copier from '../../examples/5_config_copier.ts'
import report from '../../examples/6_nightly_report.ts'
import sites from '../../examples/8_site_webhooks.ts'
import { fullOperator, objectsOf, writeAll } from '../cli/deploy_sample.ts'
import { MemoryCloud } from '../examples/memory_cloud.ts'
import { createObject, tokenOf } from './objects.ts'
import { withFolder } from '../tools/folder.ts'
import { watching } from './watching.ts'
import { noPlane, realPlane } from '../tools/real_plane.ts'

const plane = realPlane()

const DEPLOYED = { image: 'x:1', createNamespace: true }

/** All examples that are an operator, and one with everything. */
const APPS = [sample, replicator, buckets(new MemoryCloud()), pools, copier, report, sites, fullOperator()]

/** Returns what an operator with `crds: 'install'` writes itself. */
function installedBy({ description }: Operator): readonly object[] {
  const { name, crds } = description.options
  if (crds !== 'install') return []
  const webhooks = hasWebhooks(description) ? describeWebhooks(description, `${name}-system`) : undefined
  return [
    ...crdOf(usedResources(description), { ...description, conversion: webhooks?.conversion }),
    ...(webhooks?.configurations ?? []),
  ]
}

/** Returns the cluster as a pod of this ServiceAccount reaches it. */
async function asAccount(namespace: string, name: string): Promise<ClusterConfig> {
  const { server, ca } = plane.envtest.tokenConfig
  return { server, ...(ca !== undefined && { ca }), namespace, token: await tokenOf(plane.transport, namespace, name) }
}

test(
  'the printed rights are enough for an operator that installs its definitions and reconciles',
  { skip: noPlane },
  async () => {
    const [name, namespace] = ['sample-controller', 'sample-controller-system']
    for (const object of await objectsOf(sample, DEPLOYED)) await createObject(plane.transport, object)

    const stopping = new AbortController()
    const problems: string[] = []
    // The server says so of a definition that was just created.
    const note = (message: string): void =>
      void (message.includes('storage is (re)initializing') || problems.push(message))
    const ready = new Latch()
    const ended = sample.start(stopping.signal, {
      cluster: await asAccount(namespace, name),
      log: { ...silentLog, warn: note, error: note },
      onAssembled: ({ manager }) => void manager.elected.then(() => ready.open()),
    })
    await Promise.race([ready.opened, ended])
    const foos = watching(plane.transport, Foo, stopping.signal)
    const deployments = watching(plane.transport, Deployment, stopping.signal)
    try {
      const metadata = { namespace: 'default', name: 'rights' }
      await plane.client.create(Foo, { metadata, spec: { deploymentName: 'rights', replicas: 2 } })
      await deployments.watching.until('default/rights', 'created', (found) => found !== undefined)
      await plane.client.setStatus(Deployment, (await plane.client.get(Deployment, metadata))!, {
        replicas: 2,
        readyReplicas: 2,
        availableReplicas: 2,
      })
      // The operator copies it.
      const isAvailable = (found: unknown): boolean =>
        (found as { status?: { availableReplicas?: number } } | undefined)?.status?.availableReplicas === 2
      await foos.watching.until('default/rights', 'available', isAvailable)
    } finally {
      stopping.abort()
      await Promise.allSettled([ended, foos.ended, deployments.ended])
    }
    assert.deepEqual(problems, [])
  },
)

function run(folder: string, program: string, ...args: string[]) {
  writeFileSync(join(folder, 'kubeconfig'), plane.envtest.kubeconfig())
  const env = { ...process.env, KUBECONFIG: join(folder, 'kubeconfig') }
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

const STRICT = ['apply', '--server-side', '--validate=strict']

test(
  'the manifests of all examples pass strict validation, and their pods the restricted profile',
  { skip: noPlane },
  () =>
    withFolder(async (folder) => {
      const kubectl = (...args: string[]): string[] => {
        const { code, stdout, stderr } = run(folder, plane.envtest.kubectl, ...args)
        assert.equal(code, 0, stderr)
        assert.equal(stderr, '')
        return stdout.trim().split('\n').sort()
      }
      const all = await Promise.all(APPS.map((app) => objectsOf(app, DEPLOYED)))
      const printed = [...APPS.flatMap(installedBy), ...all.flat()]
      writeFileSync(join(folder, 'all.yaml'), manifestText(printed))
      assert.equal(kubectl(...STRICT, '-f', 'all.yaml').length, printed.length)

      const names = APPS.map(({ description }) => description.options.name)
      for (const [at, objects] of all.entries()) writeAll(join(folder, 'bases', names[at]!), kustomizeFiles(objects))
      writeFileSync(join(folder, 'bases/kustomization.yaml'), JSON.stringify({ resources: names }))
      assert.equal(kubectl(...STRICT, '-k', 'bases').length, all.flat().length)

      const pods = all.flat().filter(({ kind }) => kind === 'Deployment').map(({ metadata, spec }) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: metadata.namespace, name: metadata.name },
        spec: (spec as { template: { spec: object } }).template.spec,
      }))
      assert.equal(pods.length, APPS.length)
      // Each namespace enforces the profile.
      writeFileSync(join(folder, 'pods.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }))
      assert.equal(kubectl('create', '--validate=strict', '-f', 'pods.json').length, pods.length)
      const bad = {
        ...pods[0]!,
        metadata: { ...pods[0]!.metadata, name: 'bad' },
        spec: { containers: [{ name: 'a', image: 'a' }] },
      }
      writeFileSync(join(folder, 'bad.json'), JSON.stringify(bad))
      assert.match(
        run(folder, plane.envtest.kubectl, 'create', '-f', 'bad.json').stderr,
        /violates PodSecurity "restricted/,
      )
    }),
)
