/** Warns where the stored configurations differ from those of an operator that does not install them. */
import type { KubeObject } from '../../core/objects.ts'
import type { WebhookConfiguration, WebhookConfigurations } from './configurations.ts'
import { leftoverText } from './leftovers.ts'
import {
  isOwnConfiguration,
  isSameServer,
  MUTATING,
  OPERATOR_LABEL,
  serverOf,
  VALIDATING,
} from '../common/ownership.ts'
import { type Configuration, type InstallDependencies, isInjectedByOthers } from './trusted_cas.ts'

/**
 * Logs a warning for each configuration that is missing or not labelled, and for each webhook that is called elsewhere
 * or for fewer requests; an error for a configuration of an earlier release. Each is named once, and again when it was
 * in order in between.
 * `named`: those that were named.
 */
export function warnOfDifferences(
  found: readonly KubeObject[],
  { mutating, validating }: WebhookConfigurations,
  named: Set<string>,
  { log, operator, namespace }: InstallDependencies,
): void {
  const warnings = [mutating, validating].flatMap((wanted) => wanted ? differences(found, wanted) : [])
  const wanted = [mutating, validating].map((each) => each?.kind)
  const left = [MUTATING, VALIDATING].flatMap((resource) => {
    const object = !wanted.includes(resource.kind as never) && found.find(({ kind }) => kind === resource.kind)
    return object && isOwnConfiguration(object, operator, namespace) ? leftoverText(resource, object.metadata.name) : []
  })
  for (const warning of warnings) if (!named.has(warning)) log.warn(warning)
  for (const error of left) if (!named.has(error)) log.error(error)
  named.clear()
  for (const each of [...warnings, ...left]) named.add(each)
}

function differences(found: readonly KubeObject[], { kind, metadata, webhooks }: WebhookConfiguration): string[] {
  const title = `${kind} "${metadata.name}"`
  const remedy = "apply what kubeloop manifests FILE prints, or set crds: 'install'"
  const stored = found.find((each) => each.kind === kind && each.metadata.name === metadata.name)
  if (!stored) return [`There is no ${title}, so the API server does not call these webhooks: ${remedy}`]
  const entries = (stored as Configuration).webhooks ?? []
  const label = metadata.labels[OPERATOR_LABEL]
  const isLeftAlone = stored.metadata.labels?.[OPERATOR_LABEL] !== label && !isInjectedByOthers(stored)
  return webhooks.flatMap(({ name, clientConfig, rules }) => {
    const entry = entries.find((entry) => entry.name === name)
    const { clientConfig: other } = entry ?? {}
    const isOurs = other && isSameServer(other, clientConfig)
    const keepsCa = isOurs && isLeftAlone && other.caBundle !== clientConfig.caBundle
    const uncalled = isOurs && !keepsCa ? uncalledOf(rules as [Rule], (entry!['rules'] ?? []) as Rule[]) : undefined
    if (isOurs && !keepsCa && uncalled === undefined) return []
    const what = keepsCa
      ? `keeps its CA, as there is no label ${OPERATOR_LABEL}: ${label}`
      : uncalled !== undefined
      ? `is not called for ${uncalled}`
      : other
      ? `calls ${serverOf(other)}, not ${serverOf(clientConfig)}`
      : 'is missing'
    return [`The webhook "${name}" of ${title} ${what}: ${remedy}`]
  })
}

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly operations?: readonly string[]
  readonly resources?: readonly string[]
}

/** Returns the first operation of our rule that no stored rule has, such as `DELETE of foos`. */
function uncalledOf([ours]: readonly [Rule], stored: readonly Rule[]): string | undefined {
  const includes = (some: readonly string[] = [], each: string): boolean => some.includes('*') || some.includes(each)
  const [[group], [version]] = [ours.apiGroups!, ours.apiVersions!]
  for (const operation of ours.operations!) {
    for (const resource of ours.resources!) {
      const [plural, subresource] = resource.split('/')
      const forms = [resource, '*/*', ...(subresource === undefined ? [] : [`${plural}/*`, `*/${subresource}`])]
      const isCalled = stored.some((rule) =>
        includes(rule.apiGroups, group!) && includes(rule.apiVersions, version!) &&
        includes(rule.operations, operation) &&
        rule.resources?.some((each) => forms.includes(each) || (each === '*' && subresource === undefined))
      )
      if (!isCalled) return `${operation} of ${resource}`
    }
  }
  return undefined
}
