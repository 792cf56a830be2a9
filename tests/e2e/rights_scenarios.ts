/** What three examples and one more operator do, so that each right that they need is used. */
import { operator, type Transport } from 'kubeloop'
import {
  ClusterRole,
  ConfigMap,
  Deployment,
  Lease,
  MutatingWebhookConfiguration,
  Namespace,
  NetworkPolicy,
  Role,
  RoleBinding,
  Secret,
  ServiceAccount,
  ValidatingWebhookConfiguration,
} from 'kubeloop/kinds'
import { crdOf } from '../../lib/schema/crds.ts'
import { CRD } from '../../lib/core/resource.ts'
import type { Client } from '../../lib/client/client.ts'
import { usedResources } from '../../lib/operator/description/used_kinds.ts'
import sample, { Foo } from '../../examples/1_sample_controller.ts'
import replicator from '../../examples/2_secret_replicator.ts'
import sites, { Site } from '../../examples/8_site_webhooks.ts'
import { HOME, type Phase, type Scenario } from './least_rights.ts'

/** Refuses to stream lists, as servers without the feature WatchList do: kinds are listed then. */
function withoutStreams(inner: Transport): Transport {
  return async (request) => {
    if (!request.path.includes('sendInitialEvents=true')) return await inner(request)
    const message = 'sendInitialEvents is not supported'
    const status = { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422, message }
    const answer = await inner({ method: 'GET', path: '/version' })
    answer.body.cancel()
    const text = JSON.stringify(status)
    const body = {
      text: () => Promise.resolve(text),
      cancel() {},
      async *[Symbol.asyncIterator]() {
        yield await Promise.resolve(new TextEncoder().encode(text))
      },
    }
    return { status: 422, headers: { 'content-type': 'application/json' }, body }
  }
}

/** A template that the API server accepts. */
const FOO = { metadata: { namespace: 'default', name: 'a' }, spec: { deploymentName: 'b', replicas: 1 } }

const sampleWork: Phase['work'] = async (client, until) => {
  await client.create(Foo, FOO)
  await until(Deployment, 'default/b', Boolean)
  const { metadata } = (await client.get(Deployment, { namespace: 'default', name: 'b' }))!
  await client.setStatus(Deployment, metadata as never, { replicas: 1, readyReplicas: 1, availableReplicas: 1 })
  await until(Foo, 'default/a', (foo) => statusOf(foo)['availableReplicas'] === 1)
}

function statusOf(object: unknown): Record<string, unknown> {
  return (object as { status?: Record<string, unknown> } | undefined)?.status ?? {}
}

/** Installs the definitions of an earlier version of the operator. */
async function earlierDefinitions(client: Client, description: Scenario['description']): Promise<void> {
  for (const crd of crdOf(usedResources(description).filter(({ definition }) => definition), description)) {
    const versions = crd.spec.versions.map((version) => ({
      ...version,
      additionalPrinterColumns: [{ name: 'Old', type: 'string', jsonPath: '.metadata.name' }],
    }))
    const { conversion: _, ...spec } = crd.spec
    await client.createOrUpdate(CRD, { name: crd.metadata.name } as never, (draft) => {
      const { metadata } = draft as { metadata: object }
      Object.assign(draft, { metadata: { ...crd.metadata, ...metadata }, spec: { ...spec, versions } })
    })
  }
}

const INSTALLING = { ...sample.description, options: { ...sample.description.options, crds: 'install' as const } }

export const SAMPLE: Scenario = {
  description: INSTALLING,
  phases: [
    { name: 'the first start', needsNoDefinitions: true, work: sampleWork },
    {
      name: 'an update of the operator, on a server that does not stream lists',
      async prepare(client) {
        await earlierDefinitions(client, INSTALLING)
        const { name } = INSTALLING.options
        for (
          const [kind, phase] of [[MutatingWebhookConfiguration, 'mutating'], [
            ValidatingWebhookConfiguration,
            'validating',
          ]] as const
        ) {
          const metadata = { name: `${name}-${phase}-webhook-configuration`, labels: { 'kubeloop.dev/operator': name } }
          await client.apply(kind as typeof MutatingWebhookConfiguration, { metadata })
        }
      },
      around: withoutStreams,
      work: sampleWork,
    },
  ],
}

const TLS = { namespace: 'vault', name: 'tls' }

async function namespaces(client: Client): Promise<void> {
  // Without controllers, a real server never ends the deletion of a namespace.
  for (const name of ['vault', 'team-a', 'team-b']) await client.apply(Namespace, { metadata: { name } })
}

export const REPLICATOR: Scenario = {
  description: replicator.description,
  phases: [{
    name: 'a source that gets a finalizer from another operator meanwhile',
    prepare: namespaces,
    around: (inner, client) => {
      let isFirst = true
      return async (request) => {
        if (isFirst && request.headers?.['content-type'] === 'application/json-patch+json') {
          isFirst = false
          await client.patch(Secret, TLS, { merge: { metadata: { finalizers: ['example.com/other'] } } })
        }
        return await inner(request)
      }
    },
    work: async (client, until) => {
      await client.create(Secret, {
        metadata: {
          ...TLS,
          labels: { 'replicator.dev/role': 'source' },
          annotations: { 'replicator.dev/to': 'team-.*' },
        },
        data: { a: 'Yg==' },
      })
      await until(Secret, 'team-a/tls', Boolean)
      await until(Secret, 'team-b/tls', Boolean)
      await client.patch(Secret, TLS, { merge: { metadata: { annotations: { 'replicator.dev/to': 'team-a' } } } })
      await until(Secret, 'team-b/tls', (found) => !found)
      await client.delete(Secret, TLS)
      await until(Secret, 'team-a/tls', (found) => !found)
      await until(Secret, 'vault/tls', (found) => finalizersOf(found).length === 1)
      await client.patch(Secret, TLS, { merge: { metadata: { finalizers: null } } })
    },
  }, {
    name: 'a server that does not stream lists',
    prepare: namespaces,
    around: withoutStreams,
    work: () => Promise.resolve(),
  }],
}

function finalizersOf(object: unknown): readonly string[] {
  return (object as { metadata?: { finalizers?: readonly string[] } } | undefined)?.metadata?.finalizers ?? []
}

const siteWork: Phase['work'] = async (client, until) => {
  await client.create(Site, { metadata: { namespace: 'default', name: 'a' }, spec: { hosts: ['A.example.dev'] } })
  await until(NetworkPolicy, 'default/a', Boolean)
  await until(Site, 'default/a', (site) => statusOf(site)['ready'] === true)
}

/** The example, on any free port. */
const siteDescription: Scenario['description'] = {
  ...sites.description,
  options: { ...sites.description.options, webhooks: { ...sites.description.options.webhooks, port: 0 } },
}

/** Deletes all that the scenarios have created, but namespaces and, if stated, definitions. */
export async function clean(client: Client, withDefinitions: boolean): Promise<void> {
  for (const each of ['Mutating', 'Validating']) {
    await client.delete(configurationKind(each), { name: configurationName(each) } as never)
  }
  for (const kind of [Foo, Site]) {
    const { group, plural } = kind
    const name = { name: `${plural}.${group}` } as never
    if (withDefinitions) await client.delete(CRD, name)
    else if (await client.get(CRD, name)) await client.deleteAll(kind as never, { namespace: 'default' } as never)
  }
  const dependents = {
    default: [Deployment, NetworkPolicy],
    'team-a': [Deployment, ConfigMap, RoleBinding, Role],
    'team-b': [Deployment, ConfigMap],
  }
  for (const [namespace, kinds] of Object.entries(dependents)) {
    for (const kind of kinds) await client.deleteAll(kind as never, { namespace } as never)
  }
  for (const namespace of ['vault', 'team-a', 'team-b', HOME]) {
    for (const secret of await client.list(Secret, { namespace })) {
      if (secret.metadata.finalizers) await client.patch(Secret, secret, { merge: { metadata: { finalizers: null } } })
      await client.delete(Secret, secret)
    }
    await client.deleteAll(Lease, { namespace })
  }
}

function configurationKind(each: string) {
  const kind = `${each}WebhookConfiguration`
  return { ...WEBHOOKS, kind, plural: `${kind.toLowerCase()}s` } as const
}

function configurationName(each: string): string {
  return `sites-${each.toLowerCase()}-webhook-configuration`
}

const WEBHOOKS = { group: 'admissionregistration.k8s.io', version: 'v1', scope: 'Cluster' } as const

export const SITES: Scenario = {
  description: siteDescription,
  phases: [
    { name: 'the first start', needsNoDefinitions: true, work: siteWork },
    {
      name: 'an update of the operator, on a server that does not stream lists',
      prepare: async (client) => {
        await earlierDefinitions(client, sites.description)
        for (const each of ['Mutating', 'Validating']) {
          await client.create(configurationKind(each), {
            metadata: { name: configurationName(each), labels: { 'kubeloop.dev/operator': 'sites' } },
            webhooks: [],
          } as never)
        }
        // Damaged certificates are replaced.
        const type = 'kubernetes.io/tls'
        const data = { 'tls.crt': '', 'tls.key': '' }
        const labels = { 'kubeloop.dev/operator': 'sites' }
        await client.create(Secret, { metadata: { namespace: HOME, name: 'sites', labels }, type, data })
      },
      around: withoutStreams,
      work: siteWork,
    },
  ],
}

const granter = operator({ name: 'granter', namespaces: ['team-a'], leaderElection: true })
const rbac = 'rbac.authorization.k8s.io'

/** Grants what it has, and binds a role of others whose rights it does not have. */
granter.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'grants' }).reconcile(
  async ({ metadata: { namespace } }, { client }) => {
    const metadata = { namespace, name: 'readers' }
    await client.apply(Role, { metadata, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] })
    await client.apply(RoleBinding, { metadata, roleRef: { apiGroup: rbac, kind: 'Role', name: 'readers' } })
    const others = { namespace, name: 'others' }
    await client.apply(RoleBinding, {
      metadata: others,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'of-others' },
    })
  },
)

export const GRANTS: Scenario = {
  description: granter.description,
  phases: [{
    name: 'the first grant',
    async prepare(client) {
      await namespaces(client)
      const metadata = { name: 'of-others' }
      await client.apply(ClusterRole, { metadata, rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }] })
    },
    async work(client, until) {
      await client.create(ConfigMap, { metadata: { namespace: 'team-a', name: 'grants' } })
      await until(RoleBinding, 'team-a/others', Boolean)
    },
  }, {
    name: 'a server that does not stream lists',
    prepare: namespaces,
    around: withoutStreams,
    work: () => Promise.resolve(),
  }],
}

const teams = operator({ name: 'teams', namespaces: ['team-a', 'team-b'] })
const config = { namespace: 'vault', name: 'teams-config' }

/** Asks for what the examples do not. */
teams.controllerFor(ConfigMap, { when: ({ metadata }) => metadata.name === 'team' }).reconcile(
  async (map, { client, events }) => {
    await client.get(ConfigMap, config)
    await client.edit(ConfigMap, map, (draft) => void (draft.data = { size: '2' }))
    await client.deleteAll(ServiceAccount, { namespace: map.metadata.namespace })
    await client.subresource(Deployment, { namespace: map.metadata.namespace, name: 'web' }, 'scale').patch({
      merge: { spec: { replicas: 2 } },
    })
    // The second time is a patch of the first one's Event.
    events.normal(map, 'Resized', 'It has the size 2')
  },
)

type ConfigMapData = { readonly data?: Readonly<Record<string, string>> }

/** What is asked for in one of the namespaces is allowed in both. */
const TEAM_NAMESPACES: readonly string[] = ['team-a', 'team-b']

export const TEAMS: Scenario = {
  description: teams.description,
  stands: (text) => ['vault', 'teams-config', 'team'].includes(text),
  reconciled: [...TEAM_NAMESPACES, 'team'],
  phases: [
    {
      name: 'objects that another client changes meanwhile',
      prepare: async (client) => {
        await namespaces(client)
        await client.apply(ConfigMap, { metadata: config })
        const labels = { app: 'web' }
        const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx:1' }] } }
        for (const namespace of TEAM_NAMESPACES) {
          await client.create(Deployment, {
            metadata: { namespace, name: 'web' },
            spec: { selector: { matchLabels: labels }, template },
          })
        }
      },
      around: (inner, client) => {
        const changed = new Set<string>()
        return async (request) => {
          const namespace = /^\/api\/v1\/namespaces\/(team-.)\/configmaps\/team/.exec(request.path)?.[1]
          if (namespace && request.method === 'PUT' && !changed.has(namespace)) {
            changed.add(namespace)
            await client.patch(ConfigMap, { namespace, name: 'team' }, { merge: { metadata: { labels: { a: 'b' } } } })
          }
          return await inner(request)
        }
      },
      work: async (client, until) => {
        for (const namespace of TEAM_NAMESPACES) {
          const isResized = (found: unknown): boolean => (found as ConfigMapData | undefined)?.data?.['size'] === '2'
          const map = { namespace, name: 'team' }
          await client.create(ConfigMap, { metadata: map })
          await until(
            Deployment,
            `${namespace}/web`,
            (found) => (found as { spec?: { replicas?: number } }).spec?.replicas === 2,
          )
          await until(ConfigMap, `${namespace}/team`, isResized)
          await client.patch(ConfigMap, map, { merge: { data: { size: '1' } } })
          await until(ConfigMap, `${namespace}/team`, isResized)
        }
      },
    },
    {
      name: 'a server that does not stream lists',
      prepare: namespaces,
      around: withoutStreams,
      work: () => Promise.resolve(),
    },
  ],
}
