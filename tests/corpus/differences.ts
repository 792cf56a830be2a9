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

/** Matches answers about a kind that are equal once `part` is left out of the real server's and the embedded one's. */
function only(kind: string, part: RegExp): Explanation['matches'] {
  const without = (text: string): string => text.replaceAll(part, '')
  return ({ manifest, expected, actual }) =>
    (kind === '' || manifest.kind === kind) && without(expected) === without(actual)
}

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
    matches: only('Node', /,"taints":\[\{"effect":"NoSchedule","key":"node\.kubernetes\.io\/not-ready"\}\]/g),
  },
  {
    reason: 'volumes and claims are not protected by a finalizer: no controller would take it away',
    matches: ({ manifest, expected }) =>
      ['PersistentVolume', 'PersistentVolumeClaim'].includes(manifest.kind) &&
      /kubernetes\.io\/pvc?-protection/.test(expected),
  },
  {
    reason: 'the roles that every cluster has are only there when the server is asked to create them',
    matches: ({ manifest, expected }) =>
      manifest.kind === 'ClusterRole' && /already exists|rbac-defaults/.test(expected),
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
    matches: (difference) =>
      difference.manifest.apiVersion.startsWith('cli.kyverno.io/') && only('', /"generation":\d+,/g)(difference),
  },
]

/** Returns why two answers may differ; undefined if they may not. */
export function explanationOf(difference: Difference): string | undefined {
  return EXPLAINED.find(({ matches }) => matches(difference))?.reason
}
