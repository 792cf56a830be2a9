/** Builds the Deployment of an operator, with what the restricted Pod Security profile asks for. */
import { toMs } from '../../core/duration.ts'
import { hasWebhooks, type OperatorDescription } from '../../operator/description/description.ts'
import { certificateFolder, certificateName } from './cert_manager.ts'
import { metricsFolder, metricsSecret } from './metrics.ts'
import type { DeployOptions } from './options.ts'
import { addressOf, portOf, reachable } from './ports.ts'

/** Not in any image of a common base, so that files of the image belong to another user. */
export const USER = 65_532

/**
 * After the grace of reconciles, of which `shutdownDelay` is at most half: the lease is released, Events are sent and
 * servers close.
 */
const STOP_SECONDS = 15

/** Returns the Deployment. `labels` are those of its pods. */
export function workload(
  description: OperatorDescription,
  { image, namespace, replicas, ...deploy }: DeployOptions & { readonly namespace: string; readonly replicas: number },
  labels: Readonly<Record<string, string>>,
): object {
  const { name, leaderElection, sharding, grace } = description.options
  const graceMs = grace === undefined ? 30_000 : grace === 'forever' ? 3_600_000 : toMs(grace)
  const folder = hasWebhooks(description) ? certificateFolder(description.options) : undefined
  const ports = reachable(description, deploy)
  const certificates = [
    { name: 'certs', secretName: certificateName(name), mountPath: folder },
    {
      name: 'metrics-certs',
      secretName: metricsSecret(description.options),
      mountPath: metricsFolder(description.options),
    },
  ].filter(({ mountPath }) => mountPath !== undefined)
  const secrets = certificates.map(({ name, secretName }) => ({ name, secret: { secretName } }))
  const container = {
    name: 'operator',
    image: image ?? name,
    // The last line of the log says why the process ended.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(ports.length > 0 && { ports }),
    ...probesOf(description),
    // Without a NetworkPolicy any pod may send reviews: of the largest that are accepted, all that are open fit in.
    resources: {
      requests: { cpu: '10m', memory: '128Mi' },
      limits: { memory: hasWebhooks(description) ? '768Mi' : '256Mi' },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'tmp', mountPath: '/tmp' },
      ...certificates.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true })),
    ],
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      // Without a lease, the old pod must have ended before the new one writes.
      ...(!leaderElection && !sharding && { strategy: { type: 'Recreate' } }),
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: Math.ceil(graceMs / 1000) + STOP_SECONDS,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          ...(replicas > 1 && {
            topologySpreadConstraints: [{
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
              matchLabelKeys: ['pod-template-hash'],
            }],
          }),
          containers: [container],
          volumes: [{ name: 'tmp', emptyDir: {} }, ...secrets],
        },
      },
    },
  }
}

function probesOf({ options: { health } }: OperatorDescription): object {
  if (portOf(addressOf(health)) === undefined) return {}
  const probe = (path: string): object => ({ httpGet: { path, port: 'health' } })
  return {
    livenessProbe: { ...probe('/healthz'), initialDelaySeconds: 15, periodSeconds: 20 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 5 },
  }
}
