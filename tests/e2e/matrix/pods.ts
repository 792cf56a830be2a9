/** Pods of a Deployment as processes, with the kubelet's probes and restarts, and rolling updates. */
import { sleep, systemClock } from '../../../lib/async/clock.ts'
import { createAuthority } from '../../../lib/runtime/net/certificates.ts'
import { freePort } from '../../../lib/runtime/net/loopback.ts'
import type { Setup } from '../files/matrix_operator.ts'
import { REPO, startOperatorProcess } from '../operator_process.ts'
import { type AccountFiles, accountFolder } from '../pod.ts'
import type { Service } from './service.ts'

const FILE = `${REPO}tests/e2e/files/matrix_operator.ts`

/** How often a pod is probed, the failures until it isn't ready, and the delay before a container starts again. */
const [PROBE_MS, MAX_FAILURES, RESTART_MS] = [200, 3, 1000]

export type Release = Setup['release']

export interface Deployment {
  readonly setup: Pick<Setup, 'name' | 'crds' | 'service'>
  readonly kubeconfig: string
  readonly server: string
  /** Undefined on a laptop. */
  readonly service: Service | undefined
  /** The files of the folder. Undefined: in a Secret. */
  certificates: AccountFiles | undefined
}

export type Pod = Awaited<ReturnType<typeof startPod>>

/** Issues a pair of a new CA, as a self-signed issuer does at each renewal. */
export async function issueCertificates(service: string): Promise<AccountFiles> {
  const authority = await createAuthority()
  const names = { dnsNames: [`${service}.${service}.svc`], ipAddresses: ['127.0.0.1'], usage: 'server' } as const
  const { cert, key } = await authority.issue({ ...names, commonName: 'webhooks' })
  return { 'ca.crt': authority.ca, 'tls.crt': cert, 'tls.key': key }
}

export async function startPod({ setup, kubeconfig, server, service, certificates }: Deployment, release: Release) {
  const [port, health] = [await freePort(), await freePort()]
  const folder = certificates && accountFolder(certificates)
  const certs = folder?.path ?? { secret: 'webhooks' }
  const args = [JSON.stringify({ ...setup, release, port, health, certs } satisfies Setup)]
  const reads = [REPO, ...(folder ? [folder.path] : [])]
  const common = { kubeconfig, server, reads, args, isPod: service !== undefined }
  const start = () => startOperatorProcess({ ...common, file: FILE, listens: [port, health] })
  let [isReady, isEnding, isKilled, crashes, earlier] = [false, false, false, 0, '']
  let running = start()
  const keepRunning = async (): Promise<void> => {
    for (;; running = start()) {
      await running.ended
      if (!isEnding) await sleep(systemClock, RESTART_MS)
      if (isEnding) return folder?.remove()
      earlier += running.output()
      if (!isKilled) crashes++
      isKilled = false
    }
  }
  const probe = async (): Promise<void> => {
    for (let failures = 0; !isEnding; await sleep(systemClock, PROBE_MS)) {
      const answer = fetch(`http://127.0.0.1:${health}/readyz`, { signal: AbortSignal.timeout(2000) })
      const isOk = await answer.then(async (response) => (await response.text(), response.ok)).catch(() => false)
      failures = isOk ? 0 : failures + 1
      if (isEnding || isOk === isReady || (!isOk && failures < MAX_FAILURES)) continue
      isReady = isOk
      // The port of the Service has a name, so a pod without that port is no endpoint.
      if (release !== 'old') service?.follow(port, isOk)
    }
  }
  const [ended] = [keepRunning(), probe()]
  return {
    release,
    isReady: () => isReady,
    crashes: () => crashes,
    output: () => earlier + running.output(),
    /** Kills the process, which starts again. */
    async kill(): Promise<void> {
      ;[isKilled, isReady] = [true, false]
      service?.follow(port, false)
      await running.end('SIGKILL')
    },
    async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
      isEnding = true
      service?.follow(port, false)
      await running.end(signal)
      await ended
    },
    renew: (files: AccountFiles) => folder?.replace(files),
  }
}

/** Resolves with whether the condition became true in time. */
export async function until(isTrue: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const deadline = systemClock.monotonic() + ms
  for (; !(await isTrue()); await sleep(systemClock, 50)) if (systemClock.monotonic() > deadline) return false
  return true
}

/** Replaces the pods one by one. Resolves with false if a new one is not ready in time: the rollout stops there. */
export async function roll(pods: Pod[], deployment: Deployment, release: Release, ms: number): Promise<boolean> {
  const ending: Promise<void>[] = []
  for (const old of [...pods]) {
    const next = await startPod(deployment, release)
    pods.push(next)
    if (!(await until(next.isReady, ms))) return false
    pods.splice(pods.indexOf(old), 1)
    ending.push(old.end('SIGTERM'))
  }
  await Promise.all(ending)
  return true
}
