/** The programs of a control plane: their flags, files and ports, and how each says that it is ready. */
import type { Authority, IssuedCertificate } from '../runtime/net/certificates.ts'
import { freePort, probe } from '../runtime/net/loopback.ts'
import { ensureFolder, type Workspace } from '../runtime/os/workspace.ts'

/** Where the programs are. */
export interface ControlPlanePaths {
  readonly etcd: string
  readonly apiServer: string
  /** Empty when it is not wanted. */
  readonly controllerManager: string
}

/** Further flags by program; a later flag wins over ours. */
export interface ExtraArgs {
  readonly etcd?: readonly string[]
  readonly apiServer?: readonly string[]
  readonly controllerManager?: readonly string[]
}

export interface ProgramOptions {
  readonly authority: Authority
  readonly paths: ControlPlanePaths
  /** The controllers of kube-controller-manager; none: it does not run. */
  readonly controllers: readonly string[]
  /** The folder of etcd's data; without one it is in the workspace. */
  readonly dataDir: string | undefined
  readonly extraArgs: ExtraArgs
}

/** One program: what it is started with, and how it says that it is ready. */
export interface Program {
  readonly name: ProgramName
  readonly command: string
  readonly args: readonly string[]
  ready(): Promise<boolean>
}

/** The programs of a control plane. */
export type ProgramName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager'

export interface Prepared {
  /** In the order of starting. */
  readonly programs: readonly Program[]
  readonly server: string
  readonly admin: IssuedCertificate
  /** The administrator's other credential. */
  readonly token: string
}

/** Ports, certificates and files; nothing runs yet. */
export async function prepare(options: ProgramOptions, workspace: Workspace): Promise<Prepared> {
  const { authority } = options
  const [etcdPort, apiPort, managerPort] = [await freePort(), await freePort(), await freePort()]
  const serving = await authority.issue({
    commonName: 'kube-apiserver',
    usage: 'server',
    ipAddresses: ['127.0.0.1', '::1', '10.0.0.1'],
    dnsNames: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
    ],
  })
  const admin = await authority.issue({
    commonName: 'envtest-admin',
    organizations: ['system:masters'],
    usage: 'client',
  })
  // No client uses it: service account tokens are signed with its key and checked with its certificate.
  const serviceAccounts = await authority.issue({ commonName: 'service-accounts', usage: 'client' })
  const token = crypto.randomUUID() + crypto.randomUUID()
  const files: Files = {
    ca: workspace.write('ca.crt', authority.ca),
    servingCert: workspace.write('serving.crt', serving.cert),
    servingKey: workspace.write('serving.key', serving.key),
    adminCert: workspace.write('admin.crt', admin.cert),
    adminKey: workspace.write('admin.key', admin.key),
    serviceAccountCert: workspace.write('service-accounts.crt', serviceAccounts.cert),
    serviceAccountKey: workspace.write('service-accounts.key', serviceAccounts.key),
    tokens: workspace.write('tokens.csv', `${token},envtest-admin,envtest-admin,"system:masters"\n`),
    unused: workspace.path('unused'),
  }
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  const server = `https://127.0.0.1:${apiPort}`
  const programs = [
    etcd(options, etcdUrl, options.dataDir ?? workspace.path('etcd')),
    apiServer(options, etcdUrl, apiPort, files, admin),
  ]
  if (options.controllers.length > 0) {
    const kubeconfig = workspace.write('manager.kubeconfig', kubeconfigOfFiles(server, files))
    programs.push(controllerManager(options, kubeconfig, managerPort, files))
  }
  return { programs, server, admin, token }
}

interface Files {
  readonly ca: string
  readonly servingCert: string
  readonly servingKey: string
  readonly adminCert: string
  readonly adminKey: string
  readonly serviceAccountCert: string
  readonly serviceAccountKey: string
  readonly tokens: string
  /** A folder for what a program would otherwise write elsewhere. */
  readonly unused: string
}

function etcd({ paths, extraArgs }: ProgramOptions, url: string, data: string): Program {
  ensureFolder(data)
  return {
    name: 'etcd',
    command: paths.etcd,
    args: [
      `--data-dir=${data}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      // One member has no peers, but etcd insists on an address for them.
      '--listen-peer-urls=http://127.0.0.1:0',
      // What was written survives our SIGKILL; only a crash of the whole machine would lose it.
      '--unsafe-no-fsync',
      ...(extraArgs.etcd ?? []),
    ],
    ready: () => probe(`${url}/readyz`, {}),
  }
}

function apiServer(
  options: ProgramOptions,
  etcdUrl: string,
  port: number,
  files: Files,
  admin: IssuedCertificate,
): Program {
  const tls = { ca: options.authority.ca, ...admin }
  return {
    name: 'kube-apiserver',
    command: options.paths.apiServer,
    args: [
      `--etcd-servers=${etcdUrl}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${port}`,
      // Killed and started again, it must not wait for its old connections to be forgotten.
      '--permit-address-sharing=true',
      `--tls-cert-file=${files.servingCert}`,
      `--tls-private-key-file=${files.servingKey}`,
      `--cert-dir=${files.unused}`,
      `--client-ca-file=${files.ca}`,
      `--token-auth-file=${files.tokens}`,
      '--authorization-mode=RBAC',
      // Pods would wait for a service account that nobody makes, as long as no controllers run.
      '--disable-admission-plugins=ServiceAccount',
      '--allow-privileged=true',
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      '--service-cluster-ip-range=10.0.0.0/24',
      `--service-account-key-file=${files.serviceAccountCert}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      ...(options.extraArgs.apiServer ?? []),
    ],
    // The namespace `default` is made after /readyz says ok, and tests count on it.
    ready: async () =>
      await probe(`https://127.0.0.1:${port}/readyz`, tls) &&
      await probe(`https://127.0.0.1:${port}/api/v1/namespaces/default`, tls),
  }
}

function controllerManager(options: ProgramOptions, kubeconfig: string, port: number, files: Files): Program {
  return {
    name: 'kube-controller-manager',
    command: options.paths.controllerManager,
    args: [
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--tls-cert-file=${files.servingCert}`,
      `--tls-private-key-file=${files.servingKey}`,
      `--cert-dir=${files.unused}`,
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.ca}`,
      `--controllers=${options.controllers.join(',')}`,
      ...(options.extraArgs.controllerManager ?? []),
    ],
    ready: () => probe(`https://127.0.0.1:${port}/healthz`, { ca: options.authority.ca }),
  }
}

function kubeconfigOfFiles(server: string, files: Files): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'admin',
    contexts: [{ name: 'admin', context: { cluster: 'envtest', user: 'admin' } }],
    clusters: [{ name: 'envtest', cluster: { server, 'certificate-authority': files.ca } }],
    users: [{ name: 'admin', user: { 'client-certificate': files.adminCert, 'client-key': files.adminKey } }],
  })
}
