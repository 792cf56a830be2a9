/** The deliberate differences that the manifests of the corpus meet, with the reasons. */
import type { Manifest } from './projects.ts'

export interface Difference {
  readonly line: string
  readonly manifest: Manifest
  readonly expected: string
  readonly actual: string
}

interface Explanation {
  readonly reason: string
  readonly matches: (difference: Difference) => boolean
}

const withoutGeneration = (text: string): string => text.replace(/"generation":\d+,/, '')
const ofKind = (...kinds: readonly string[]): Explanation['matches'] => ({ manifest }) => kinds.includes(manifest.kind)

const EXPLAINED: readonly Explanation[] = [
  { reason: 'API services are stored and not checked: none is called', matches: ofKind('APIService') },
  {
    reason: 'signing requests are stored and not checked: nothing signs them',
    matches: ofKind('CertificateSigningRequest'),
  },
  { reason: 'no controller marks flow schemas: requests are not queued', matches: ofKind('FlowSchema') },
  {
    reason: 'nodes are ready at once: no kubelet would take the taint away',
    matches: ({ manifest, expected }) => manifest.kind === 'Node' && expected.includes('node.kubernetes.io/not-ready'),
  },
  {
    reason: 'volumes and claims are not protected by a finalizer: no controller would take it away',
    matches: ({ manifest, expected }) =>
      ['PersistentVolume', 'PersistentVolumeClaim'].includes(manifest.kind) &&
      /kubernetes\.io\/pvc?-protection|object is being deleted/.test(expected),
  },
  {
    reason: 'the roles that every cluster has are only there when the server is asked to create them',
    matches: ({ manifest, expected }) =>
      manifest.kind === 'ClusterRole' && /already exists|rbac-defaults/.test(expected),
  },
  {
    reason: 'the used amounts of a quota are there at once: no controller counts them',
    matches: ({ manifest, expected }) => manifest.kind === 'ResourceQuota' && expected.endsWith('"status":{}}'),
  },
  {
    reason: 'the conditions of a definition are in the order in which their controllers run',
    matches: ({ expected, actual }) =>
      [expected, actual].every((text) => text.includes('"KubernetesAPIApprovalPolicyConformant"')),
  },
  {
    reason: 'a certificate is not compared with its key',
    matches: ({ manifest, expected, actual }) =>
      manifest.kind === 'Secret' && expected.startsWith(actual) && / warnings: "(?:x509|tls|asn1): /.test(expected),
  },
  {
    reason: 'a Job has the generated labels of its template unless its own labels differ from those',
    matches: ({ manifest }) => manifest.kind === 'Job' && manifest.metadata.labels?.['job-name'] !== undefined,
  },
  {
    reason: 'the real server counts a generation for fields that it then prunes',
    matches: ({ manifest, expected, actual }) =>
      manifest.apiVersion.startsWith('cli.kyverno.io/') && withoutGeneration(expected) === withoutGeneration(actual),
  },
]

/** Returns why two answers may differ; undefined if they may not. */
export function explanationOf(difference: Difference): string | undefined {
  return EXPLAINED.find(({ matches }) => matches(difference))?.reason
}
