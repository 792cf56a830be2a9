/** Cases of installing webhook configurations, for the embedded and for a real API server. */
import assert from 'node:assert/strict'
import { type AnyResource, defineResource } from 'kubeloop'
import * as z from 'zod'
import { Api } from '../../lib/client/api.ts'
import type { KubeObject } from '../../lib/core/objects.ts'
import { CRD, type CustomResourceConversion, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import type { Transport } from '../../lib/core/transport.ts'
import {
  type ConfigurationOptions,
  configurationsOf,
  conversionOf,
  type WebhookEntry,
} from '../../lib/webhook/configurations/configurations.ts'
import { addCas, injectCa } from '../../lib/webhook/configurations/trusted_cas.ts'
import { installConfigurations } from '../../lib/webhook/configurations/install.ts'
import { MUTATING, VALIDATING } from '../../lib/webhook/common/ownership.ts'
import { recordingLog } from '../manager/parts.ts'
import { recorder, refusal } from '../client/transports.ts'

export const Site = defineResource({
  group: 'web.example.dev',
  version: 'v1',
  kind: 'Site',
  cluster: true,
  spec: z.object({ hosts: z.array(z.string()) }),
})
const TARGET = { url: 'https://127.0.0.1:1' }

/** PEM that the server accepts as CAs. */
export interface Pems {
  readonly old: string
  readonly new: string
}

type InstallLab = ReturnType<typeof installLab>

type Stored = KubeObject & { readonly webhooks: readonly (WebhookEntry & { rules: unknown[] })[] }

const never = new AbortController().signal
const both = [
  { resource: Site, path: '/mutate-web-example-dev-v1-site', mutating: true },
  { resource: Site, path: '/validate-web-example-dev-v1-site', mutating: false },
]

export function installLab(transport: Transport, operator: string, pems: Pems) {
  const network = recorder(transport)
  const api = new Api({ transport: network.transport })
  const lines: string[] = []
  const dependencies = { api, log: recordingLog(lines), operator }
  return {
    network,
    api,
    lines,
    pems,
    install: (
      over?: Partial<ConfigurationOptions>,
      more?: { readonly keepsCas?: boolean; readonly easesNew?: boolean },
    ) =>
      installConfigurations(
        configurationsOf({ operator, admissions: both, target: TARGET, caBundle: pems.old, ...over }),
        { ...dependencies, ...more },
        never,
      ),
    inject: (
      bundle: string,
      crds: readonly string[] = [],
      target: ConfigurationOptions['target'] = TARGET,
      keeps: (pem: string) => boolean = () => false,
    ) => injectCa(bundle, { crds, target, keeps }, dependencies, never),
    trust: (bundle: string, crds: readonly string[] = [], target: ConfigurationOptions['target'] = TARGET) =>
      addCas(bundle, { crds, target }, dependencies, never).then(({ isOurs }) => isOurs),
    stored: async (resource: AnyResource) => (await api.get({ resource, name: nameOf(resource, operator) })) as Stored,
    /** Returns the writes since the last call. */
    writes: () => network.take().filter((line) => !line.startsWith('GET')),
  }
}

const nameOf = ({ kind }: AnyResource, operator: string): string =>
  `${operator}-${kind === MUTATING.kind ? 'mutating' : 'validating'}-webhook-configuration`
const ref = (resource: AnyResource, operator: string) => ({ resource, name: nameOf(resource, operator) })
const caOf = ({ webhooks }: Stored): (string | undefined)[] => webhooks.map(({ clientConfig }) => clientConfig.caBundle)

/** Defines a kind with this plural. Resolves with the name of the definition. */
async function define({ api }: InstallLab, plural: string, conversion?: CustomResourceConversion): Promise<string> {
  const { crd } = Site.definition
  const name = `${plural}.web.example.dev`
  const names = { ...crd.spec.names, plural, singular: plural, kind: plural, listKind: `${plural}List` }
  await api.create({ resource: CRD }, { ...crd, metadata: { name }, spec: { ...crd.spec, names, conversion } }, {})
  return name
}

async function conversionIn({ api }: InstallLab, name: string): Promise<CustomResourceConversion | undefined> {
  const { spec } = (await api.get({ resource: CRD, name })) as never as CustomResourceDefinition
  return spec.conversion
}

const withoutSpace = (...pems: string[]): string => pems.join('').replace(/\s/g, '')
/** With it, cert-manager writes the CAs. */
const annotations = { 'cert-manager.io/inject-ca-from': 'prod/certs' }

/** Each with the name of its operator. */
export const CASES: readonly (readonly [string, (one: InstallLab, operator: string) => Promise<void>])[] = [
  [
    'new webhooks may fail until later, and those of the last release may not',
    async (one, operator) => {
      const policies = async (resource: AnyResource): Promise<unknown[]> =>
        (await one.stored(resource)).webhooks.map(({ name, failurePolicy }) => [name.split('.')[0], failurePolicy])
      const eased = { easesNew: true }
      await one.install({ admissions: [both[1]!] })
      one.lines.length = 0
      const more = { resource: Site, path: '/validate-more', mutating: false }
      const lenient = {
        resource: Site,
        path: '/validate-z',
        mutating: false,
        options: { failurePolicy: 'Ignore' } as const,
      }
      const admissions = [...both, more, lenient]
      for (const isAgain of [false, true]) {
        await one.install({ admissions }, eased)
        assert.deepEqual(await policies(MUTATING), [['mutate-web-example-dev-v1-site', 'Ignore']])
        assert.deepEqual(await policies(VALIDATING), [
          ['validate-web-example-dev-v1-site', 'Fail'],
          ['validate-more', 'Ignore'],
          ['validate-z', 'Ignore'],
        ])
        const why = 'have failurePolicy: Ignore for 10 min, as an earlier release does not serve them'
        const [first, second] = ['Mutating', 'Validating'].map((kind) =>
          `${kind}WebhookConfiguration "${operator}-${kind.toLowerCase()}-webhook-configuration"`
        )
        assert.deepEqual(
          one.lines.splice(0),
          isAgain ? [] : [
            `info Installed ${first}`,
            `info New webhooks of ${first} ${why}`,
            `info Updated ${second}`,
            `info New webhooks of ${second} ${why}`,
          ],
        )
      }
      await one.install({ admissions })
      assert.deepEqual(await policies(MUTATING), [['mutate-web-example-dev-v1-site', 'Fail']])
      assert.deepEqual((await policies(VALIDATING)).map((each) => (each as string[])[1]), ['Fail', 'Fail', 'Ignore'])
      one.lines.length = 0
      await one.install({ admissions }, eased)
      assert.deepEqual(one.lines, [], 'the next leader of the release')
    },
  ],
  [
    'configurations are installed, not sent again, updated, and deleted when no webhook is left',
    async (one, operator) => {
      await one.install()
      assert.deepEqual(one.lines, [
        `info Installed MutatingWebhookConfiguration "${operator}-mutating-webhook-configuration"`,
        `info Installed ValidatingWebhookConfiguration "${operator}-validating-webhook-configuration"`,
      ])
      assert.deepEqual((await one.stored(MUTATING)).webhooks.map(({ name }) => name), [
        `mutate-web-example-dev-v1-site.${operator}.kubeloop`,
      ])
      one.writes()
      await one.install()
      assert.deepEqual(one.writes(), [], 'the stored objects equal those that were sent')
      const [, validation] = both
      await one.install({ admissions: [{ ...validation!, options: { timeout: '3s' } }] })
      assert.deepEqual(one.writes(), [
        `DELETE /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${operator}-mutating-webhook-configuration`,
        `PUT /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${operator}-validating-webhook-configuration`,
      ])
      assert.equal((await one.stored(VALIDATING)).webhooks[0]?.['timeoutSeconds'], 3)
      assert.deepEqual(one.lines.slice(2), [
        `info Deleted MutatingWebhookConfiguration "${operator}-mutating-webhook-configuration": the operator has no such webhooks`,
        `info Updated ValidatingWebhookConfiguration "${operator}-validating-webhook-configuration"`,
      ])
    },
  ],
  ['every option and address is stored as it is sent', async (one) => {
    const options = {
      operations: ['CREATE', 'DELETE'],
      subresources: ['status'],
      failurePolicy: 'Ignore',
      sideEffects: 'NoneOnDryRun',
      matchPolicy: 'Exact',
      timeout: '30s',
      namespaceSelector: { matchLabels: { a: 'b' } },
      includeSystem: ['kinds'],
      objectSelector: { matchExpressions: [{ key: 'c', operator: 'In', values: ['d'] }] },
      matchConditions: [{ name: 'not-me', expression: 'request.userInfo.username != "me"' }],
      reinvocationPolicy: 'IfNeeded',
      scope: 'Cluster',
    } as const
    const admissions = both.map((each) => ({ ...each, options }))
    const target = { service: { namespace: 'default', name: 'hooks', port: 8443 } }
    await one.install({ admissions, target })
    one.writes()
    await one.install({ admissions, target })
    assert.deepEqual(one.writes(), [])
  }],
  ['labels and annotations of others stay, and webhooks of others in our configuration go', async (one, operator) => {
    await one.install({ annotations: { ours: 'a' } })
    const { webhooks } = await one.stored(VALIDATING)
    await one.api.patch(ref(VALIDATING, operator), 'merge', {
      metadata: { labels: { team: 'x' }, annotations: { note: 'y' } },
      webhooks: [...webhooks, { ...webhooks[0], name: 'other.of.another' }],
    }, {})
    await one.install({ annotations: { ours: 'b' } })
    const { metadata, webhooks: after } = await one.stored(VALIDATING)
    assert.deepEqual(metadata.labels, { team: 'x', 'kubeloop.dev/operator': operator })
    assert.deepEqual(metadata.annotations, { note: 'y', ours: 'b' })
    assert.equal(after.length, 1)
    one.lines.length = 0
    await one.install({ annotations: { ours: 'c' } })
    assert.deepEqual([(await one.stored(VALIDATING)).metadata.annotations?.['ours'], one.lines], ['c', []])
  }],
  ['a configuration that is not labelled as ours is neither changed nor deleted', async (one, operator) => {
    const name = nameOf(VALIDATING, operator)
    await one.api.create({ resource: VALIDATING, name }, { metadata: { name }, webhooks: [] }, {})
    one.writes()
    await assert.rejects(one.install({ admissions: [both[1]!] }), {
      message: `Cannot install ValidatingWebhookConfiguration "${name}": it exists and lacks the label ` +
        `kubeloop.dev/operator: ${operator}; delete it if it is of an earlier version of this operator, or give the ` +
        'operator another name',
    })
    await one.install({ admissions: [] })
    assert.equal((await one.inject(one.pems.new)).written, 0)
    assert.deepEqual(one.writes(), [])
  }],
  ['a conflict is retried with the newer object', async (one, operator) => {
    await one.install()
    let isFirst = true
    one.network.intercept = async (request, next) => {
      if (request.method === 'PUT' && isFirst) {
        isFirst = false
        await one.api.patch(ref(VALIDATING, operator), 'merge', { metadata: { labels: { team: 'x' } } }, {})
      }
      return next(request)
    }
    await one.install({
      admissions: both.map((each) => ({ ...each, mutating: false, options: { timeout: '4s' as const } })),
    })
    const { metadata, webhooks } = await one.stored(VALIDATING)
    assert.equal(metadata.labels?.['team'], 'x')
    assert.deepEqual(webhooks.map(({ timeoutSeconds }) => timeoutSeconds), [4, 4])
  }],
  ["a configuration that becomes another's just before its deletion stays", async (one, operator) => {
    await one.install()
    one.network.intercept = async (request, next) => {
      if (request.method === 'DELETE' && request.path.includes(VALIDATING.plural)) {
        await one.api.patch(ref(VALIDATING, operator), 'merge', {
          metadata: { labels: { 'kubeloop.dev/operator': 'other' } },
        }, {})
      }
      return next(request)
    }
    await one.install({ admissions: [] })
    assert.equal((await one.stored(VALIDATING)).metadata.labels?.['kubeloop.dev/operator'], 'other')
    await assert.rejects(one.stored(MUTATING), /not found/)
  }],
  ['two leaders that install at once end with the same configuration', async (one) => {
    await Promise.all([one.install(), one.install(), one.install()])
    assert.equal((await one.stored(MUTATING)).webhooks.length, 1)
  }],
  ['a CA is injected in both configurations, once', async (one, operator) => {
    await one.install({ caBundle: undefined })
    assert.deepEqual(caOf(await one.stored(MUTATING)), [undefined])
    const { webhooks: [{ clientConfig: _, ...before }] } = (await one.stored(MUTATING)) as never as {
      webhooks: [WebhookEntry]
    }
    one.writes()
    assert.equal((await one.inject(one.pems.new)).written, 2)
    const { clientConfig, ...after } = (await one.stored(MUTATING)).webhooks[0]!
    assert.deepEqual(after, before)
    assert.equal(clientConfig.caBundle, btoa(one.pems.new))
    assert.ok(
      one.lines.includes(
        `info Set the trusted CAs of MutatingWebhookConfiguration "${operator}-mutating-webhook-configuration"`,
      ),
    )
    assert.deepEqual(caOf(await one.stored(VALIDATING)), [btoa(one.pems.new)])
    assert.equal(one.writes().length, 2)
    const { found } = await one.inject(one.pems.new)
    assert.deepEqual(found, [await one.stored(MUTATING), await one.stored(VALIDATING)])
    assert.equal((await one.inject(one.pems.new)).written, 0)
    assert.deepEqual(one.writes(), [])
    await one.install({ caBundle: undefined })
    assert.deepEqual(one.writes(), [], 'an installation without a CA keeps the stored one')
    await one.install({ caBundle: one.pems.old })
    assert.deepEqual(caOf(await one.stored(MUTATING)), [btoa(one.pems.old)])
  }],
  ['a CA is set only in webhooks that call this server', async (one, operator) => {
    await one.install()
    const { webhooks: [entry] } = await one.stored(VALIDATING)
    const others = ['https://127.0.0.1:2', 'https://127.0.0.2:1'].map((url, at) => ({
      ...{ ...entry!, name: `other${at}.of.another`, clientConfig: { url, caBundle: btoa(one.pems.old) } },
    }))
    await one.api.patch(ref(VALIDATING, operator), 'merge', { webhooks: [entry, ...others] }, {})
    assert.equal((await one.inject(one.pems.new)).written, 2)
    const expected = [one.pems.new, one.pems.old, one.pems.old].map(btoa)
    assert.deepEqual(caOf(await one.stored(VALIDATING)), expected)
  }],
  [
    'the address of another server is replaced with a warning, and its configuration is not deleted',
    async (one, operator) => {
      await one.install({ target: { service: { namespace: 'default', name: 'there' } } })
      await one.install({ admissions: [both[1]!] })
      // As in another run of a process on the developer's machine.
      await one.install({ admissions: [both[1]!], target: { url: 'https://127.0.0.1:2' } })
      assert.deepEqual(one.lines.filter((line) => line.startsWith('warn')), [
        `warn ValidatingWebhookConfiguration "${
          nameOf(VALIDATING, operator)
        }" called the Service "default/there", and ` +
        'calls this operator now: if another operator with this name runs there, stop it or rename one of them',
      ])
      assert.equal((await one.stored(MUTATING)).webhooks.length, 1)
    },
  ],
  ['configurations that do not exist need no CA', async (one) => {
    assert.deepEqual(await one.inject(one.pems.new, ['missing.example.com']), { written: 0, found: [] })
    assert.deepEqual(one.writes(), [])
  }],
  ['where cert-manager injects the CA, it is left alone', async (one, operator) => {
    await one.install({ annotations, caBundle: one.pems.old })
    assert.deepEqual(caOf(await one.stored(VALIDATING)), [undefined])
    const { webhooks: [entry] } = await one.stored(VALIDATING)
    const injected = { ...entry!, clientConfig: { ...entry!.clientConfig, caBundle: btoa(one.pems.new) } }
    await one.api.patch(ref(VALIDATING, operator), 'merge', { webhooks: [injected] }, {})
    assert.equal((await one.inject(one.pems.old)).written, 0)
    const names = ['inject-ca-from-secret', 'inject-apiserver-ca'].map((name) => `cert-manager.io/${name}`)
    for (const [name, before] of [[names[0]!, 'cert-manager.io/inject-ca-from'], [names[1]!, names[0]!]] as const) {
      const metadata = { annotations: { [before]: null, [name]: 'true' } }
      await one.api.patch(ref(VALIDATING, operator), 'merge', { metadata }, {})
      assert.equal((await one.inject(one.pems.old)).written, 0, name)
    }
    await one.api.patch(ref(VALIDATING, operator), 'merge', {
      metadata: { annotations: { ...annotations, [names[1]!]: null } },
    }, {})
    await one.install({
      annotations,
      caBundle: one.pems.old,
      admissions: [{ ...both[1]!, options: { timeout: '5s' } }],
    })
    const after = await one.stored(VALIDATING)
    assert.deepEqual([caOf(after), after.webhooks[0]?.['timeoutSeconds']], [[btoa(one.pems.new)], 5])
  }],
  ['a CA is injected in the conversion of our CRDs, and of no others', async (one, operator) => {
    const conversions = [
      conversionOf(TARGET, one.pems.old),
      undefined,
      conversionOf({ url: 'https://127.0.0.1:2' }, one.pems.old),
      conversionOf(TARGET, one.pems.old),
    ]
    const names: string[] = []
    for (const [at, conversion] of conversions.entries()) {
      names.push(await define(one, `${'abcd'[at]}${operator}`, conversion))
    }
    await one.api.patch({ resource: CRD, name: names[3] }, 'merge', { metadata: { annotations } }, {})
    one.writes()
    assert.equal((await one.inject(one.pems.new, names)).written, 1)
    assert.equal((await one.inject(one.pems.new, names)).written, 0)
    assert.ok(one.writes().every((line) => line.endsWith(`/${names[0]}`)))
    assert.deepEqual(await Promise.all(names.map((name) => conversionIn(one, name))), [
      conversionOf(TARGET, one.pems.new),
      ...[{ strategy: 'None' }],
      ...conversions.slice(2),
    ])
    const service = { service: { namespace: 'default', name: 'hooks' } }
    const byService = await define(one, `e${operator}`, conversionOf(service, one.pems.old))
    const elsewhere = [{ namespace: 'default', name: 'other' }, { namespace: 'other', name: 'hooks' }]
    for (const target of [...elsewhere.map((other) => ({ service: other })), TARGET]) {
      assert.equal((await one.inject(one.pems.new, [byService], target)).written, 0)
    }
    assert.equal((await one.inject(one.pems.new, [byService], service)).written, 1)
    for (const name of [...names, byService]) await one.api.delete({ resource: CRD, name }, {})
  }],
  ['CAs are added to those of a conversion, and none is removed', async (one, operator) => {
    const name = await define(one, `t${operator}`, conversionOf(TARGET))
    const trusted = async (): Promise<string | undefined> => {
      const { caBundle } = (await conversionIn(one, name))!.webhook.clientConfig
      return caBundle && withoutSpace(atob(caBundle))
    }
    one.writes()
    await one.trust('not a certificate', [name])
    assert.deepEqual([await trusted(), one.writes()], [undefined, []])
    await one.trust(one.pems.old, [name, 'missing.web.example.dev'])
    await one.trust(one.pems.new, [name])
    const both = withoutSpace(one.pems.new, one.pems.old)
    assert.equal(await trusted(), both)
    one.writes()
    await one.trust(`${one.pems.old.trimEnd()}\n\n${one.pems.new}`, [name])
    assert.deepEqual([await trusted(), one.writes()], [both, []])
    await one.inject(one.pems.new, [name])
    assert.equal(await trusted(), withoutSpace(one.pems.new))
    await one.trust(one.pems.old, [name], { url: 'https://127.0.0.1:2' })
    await one.api.patch({ resource: CRD, name }, 'merge', { metadata: { annotations } }, {})
    await one.trust(one.pems.old, [name])
    assert.equal(await trusted(), withoutSpace(one.pems.new))
    await one.api.delete({ resource: CRD, name }, {})
  }],
  ['CAs are added to the entries that call this server, and an installation and an injection keep them', async (
    one,
    operator,
  ) => {
    const { old, new: other } = one.pems
    const stored = async (resource = MUTATING): Promise<string[]> =>
      caOf(await one.stored(resource)).map((ca) => ca === undefined ? 'none' : withoutSpace(atob(ca)))
    assert.equal(await one.trust(other), false, 'there is nothing yet')
    await one.install()
    const { webhooks } = await one.stored(MUTATING)
    const foreign = {
      ...webhooks[0]!,
      name: 'a.b.c',
      clientConfig: { url: 'https://127.0.0.1:2', caBundle: btoa(old) },
    }
    await one.api.patch(ref(MUTATING, operator), 'merge', { webhooks: [...webhooks, foreign] }, {})
    assert.equal(await one.trust(other), true)
    assert.deepEqual(await stored(), [withoutSpace(other, old), withoutSpace(old)])
    assert.deepEqual(await stored(VALIDATING), [withoutSpace(other, old)])
    one.writes()
    assert.equal(await one.trust(old), true)
    assert.deepEqual(one.writes(), [])
    await one.install({}, { keepsCas: true })
    assert.deepEqual([...await stored(), ...await stored(VALIDATING)], [
      withoutSpace(other, old),
      withoutSpace(other, old),
    ])
    await one.install({ target: { url: 'https://127.0.0.1:3' } }, { keepsCas: true })
    assert.deepEqual(await stored(), [withoutSpace(old)], 'another server has other CAs')
    await one.install()
    await one.trust(other)
    assert.equal((await one.inject(old, [], TARGET, () => true)).written, 2)
    assert.deepEqual(await stored(), [withoutSpace(old, other)], 'its own is the first')
    one.writes()
    assert.equal((await one.inject(old, [], TARGET, () => true)).written, 0)
    assert.equal((await one.inject(old, [], TARGET, (pem) => pem !== other.trim())).written, 2)
    assert.deepEqual(await stored(), [withoutSpace(old)])
    for (const each of [MUTATING, VALIDATING]) {
      await one.api.patch(ref(each, operator), 'merge', { metadata: { annotations } }, {})
    }
    assert.equal(await one.trust(other), false, 'cert-manager injects them')
    assert.deepEqual(await stored(), [withoutSpace(old)])
  }],
  ['a replica that may not write the configurations still adds its CA to the CRDs', async (one, operator) => {
    await one.install()
    const name = await define(one, `f${operator}`, conversionOf(TARGET))
    const failing = (code: number, reason: string, path: string): void => {
      one.network.intercept = (request, next) =>
        request.method === 'PUT' && request.path.includes(path)
          ? Promise.resolve(refusal(code, reason, {}, 'refused'))
          : next(request)
    }
    failing(403, 'Forbidden', 'webhookconfigurations')
    assert.equal(await one.trust(one.pems.new, [name]), true)
    assert.equal((await conversionIn(one, name))?.webhook.clientConfig.caBundle, btoa(one.pems.new))
    failing(500, 'InternalError', MUTATING.plural)
    await assert.rejects(one.trust(one.pems.new, [name]), /Cannot set the trusted CAs of Mutating.*refused/)
    assert.deepEqual(caOf(await one.stored(VALIDATING)), [btoa(`${one.pems.new}${one.pems.old}`)])
    failing(403, 'Forbidden', name)
    await assert.rejects(one.trust(one.pems.old, [name]), /Cannot set the trusted CAs of CustomResourceDef.*refused/)
    one.network.intercept = undefined
    await one.api.delete({ resource: CRD, name }, {})
  }],
  ['another writer that keeps putting its own CA is an error, not an endless fight', async (one, operator) => {
    await one.install()
    one.network.intercept = async (request, next) => {
      const answer = await next(request)
      if (request.method !== 'PUT') return answer
      const { webhooks: [entry] } = await one.stored(MUTATING)
      const theirs = { ...entry!, clientConfig: { ...entry!.clientConfig, caBundle: btoa(one.pems.old) } }
      await one.api.patch(ref(MUTATING, operator), 'merge', { webhooks: [theirs] }, {})
      return answer
    }
    await assert.rejects(one.inject(one.pems.new), {
      message:
        `Cannot set the trusted CAs of MutatingWebhookConfiguration "${operator}-mutating-webhook-configuration": ` +
        'after 5 writes it has others; stop what changes them, or annotate it',
    })
  }],
  ['a missing right is an error with the rule', async (one) => {
    one.network.intercept = (request, next) =>
      request.method === 'POST'
        ? Promise.resolve(
          refusal(
            403,
            'Forbidden',
            {},
            'x is forbidden: User "u" cannot create resource "mutatingwebhookconfigurations" in API group "admissionregistration.k8s.io" at the cluster scope',
          ),
        )
        : next(request)
    await assert.rejects(
      one.install(),
      (error: Error) =>
        error.message.startsWith('Cannot install MutatingWebhookConfiguration') &&
        error.message.endsWith(
          'its role lacks { apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"], verbs: ["get", "create", "update", "delete"] }',
        ),
    )
  }],
]
