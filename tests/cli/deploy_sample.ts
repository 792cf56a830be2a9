/** An operator with all that manifests can have, and its objects as the command makes them. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineResource, type Operator, operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import * as z from 'zod'
import { describeDeployment } from '../../lib/cli/deploy/objects.ts'
import type { ManifestObject } from '../../lib/cli/manifests.ts'
import type { DeployOptions } from '../../lib/cli/deploy/options.ts'
import type { RoleRules } from '../../lib/rights/rules.ts'

/** A text that needs quotes in YAML. */
const QUOTED = 'Like {{ .Values.x }}, {{- y -}} and {{{z}}} with `ticks`, "quotes" and \\n'

const Foo = defineResource({
  group: 'full.example.com',
  version: 'v1',
  kind: 'Foo',
  spec: z.object({ n: z.int32().describe(QUOTED) }),
})
const OldFoo = defineResource({
  group: 'full.example.com',
  version: 'v1beta1',
  kind: 'Foo',
  spec: z.object({ m: z.int32() }),
})

/** `namespaces`: default all. */
export function fullOperator(
  namespaces?: string[],
  webhooks: Parameters<typeof operator>[0]['webhooks'] = { certs: { secret: 'full-tls' } },
): Operator {
  const app = operator({
    name: 'full',
    leaderElection: true,
    health: ':8081',
    metrics: { address: ':8443', tls: { certs: '/metrics-certs' }, auth: true },
    webhooks,
    ...(namespaces && { namespaces }),
  })
  app.controllerFor(Foo).owns(ConfigMap).reconcile(async () => {})
  app.convert(OldFoo, Foo, {
    up: ({ spec: { m } }) => ({ spec: { n: m } }),
    down: ({ spec: { n } }) => ({ spec: { m: n } }),
  })
  app.admission(Foo, { validate: () => [], default: () => {} })
  return app
}

export const IMAGE = 'registry.example.com/full:1.2.3'

export async function objectsOf(app: Operator, options: DeployOptions = { image: IMAGE }): Promise<ManifestObject[]> {
  const { objects } = await describeDeployment(app.description, options, import.meta.url)
  // As they come from the process that loads the file.
  return JSON.parse(JSON.stringify(objects)) as ManifestObject[]
}

/** Returns rules as `place: verbs group/resource [names]`. */
export function textsOf({ everywhere, inNamespaces }: RoleRules): string[] {
  return [['*', everywhere] as const, ...inNamespaces].flatMap(([place, all]) =>
    all.map(({ apiGroups, resources, verbs, resourceNames }) =>
      `${place}: ${verbs.join(',')} ${apiGroups[0]}/${resources.join(',')}${
        resourceNames ? ` [${resourceNames.join(',')}]` : ''
      }`
    )
  )
}

export function writeAll(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}
