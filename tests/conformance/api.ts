/** A server under test: sends raw requests, because a client library would hide details. */
import assert from 'node:assert/strict'
import type { HttpRequest, HttpResponse, Transport } from '../../lib/core/transport.ts'
import { lineBatches } from '../../lib/async/lines.ts'
import { untilServed } from '../e2e/objects.ts'
import type { Hooks } from './hooks.ts'

// deno-lint-ignore no-explicit-any -- cases read any path of a body; a wrong path fails an assertion
export type Body = any

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

export interface WatchEvent {
  readonly type: string
  readonly object: Body
}

export const JSON_PATCH = 'application/json-patch+json'
export const MERGE = 'application/merge-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'

/** One behaviour. It must hold on the embedded server and on a real one. */
export interface Case {
  readonly name: string
  readonly run: (api: Api) => Promise<void>
}

export const caseOf = (name: string, run: Case['run']): Case => ({ name, run })

interface RequestOptions {
  readonly type?: string
  readonly accept?: string
  readonly userAgent?: string
  /** Other headers. An empty one is left out of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The group of custom kinds, unique per run. */
const GROUP = `conformance${Date.now().toString(36)}.example.com`
let namespaces = 0

/** The environment of a case: its own namespace, and the custom kind Foo, shared by all cases of a server. */
export class Api {
  readonly group: string = GROUP
  readonly namespace: string
  /** How many configurations of webhooks the case has installed. */
  configurations = 0
  readonly #transport: Transport
  readonly #shared: SharedKinds

  constructor(transport: Transport, shared: SharedKinds) {
    this.#transport = transport
    this.#shared = shared
    this.namespace = `conformance-${Date.now().toString(36)}-${namespaces++}`
  }

  get hooks(): Hooks {
    assert.ok(this.#shared.hooks, 'this server has no webhooks')
    return this.#shared.hooks
  }

  get isEmbedded(): boolean {
    return this.#shared.compact !== undefined
  }

  /** Drops the history of the server. */
  compact(): void {
    assert.ok(this.#shared.compact, 'this server does not support compaction')
    this.#shared.compact()
  }

  /** Creates the namespace and the custom kind. */
  async prepare(): Promise<void> {
    await this.expect(201, 'POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: this.namespace },
    })
    await (this.#shared.installed ??= this.#install())
  }

  get configMaps(): string {
    return `/api/v1/namespaces/${this.namespace}/configmaps`
  }

  get deployments(): string {
    return `/apis/apps/v1/namespaces/${this.namespace}/deployments`
  }

  get leases(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases`
  }

  get foos(): string {
    return `/apis/${this.group}/v1/namespaces/${this.namespace}/foos`
  }

  async request(
    method: HttpRequest['method'],
    path: string,
    body?: unknown,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const response = await this.#send(method, path, body, options)
    const answer = await response.body.text()
    // The content type does not suffice: a real server sends the JSON index of OpenAPI as text/plain.
    const isJson = answer.startsWith('{')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(answer) : answer }
  }

  /** Sends a request and returns the text of the answer, also if it is JSON. */
  async text(method: HttpRequest['method'], path: string, options: RequestOptions = {}): Promise<string> {
    return (await this.#send(method, path, undefined, options)).body.text()
  }

  async #send(
    method: HttpRequest['method'],
    path: string,
    body: unknown,
    options: RequestOptions,
  ): Promise<HttpResponse> {
    const isText = typeof body === 'string' || body instanceof Uint8Array
    const text = body === undefined ? undefined : isText ? body : JSON.stringify(body)
    const headers = {
      'user-agent': options.userAgent ?? 'tester/1',
      accept: options.accept ?? 'application/json',
      ...(text !== undefined && { 'content-type': options.type ?? 'application/json' }),
      ...options.headers,
    }
    return await this.#transport({
      method,
      path,
      body: text,
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')),
    })
  }

  /** Sends a request, asserts the status and returns the body. */
  async expect(
    status: number,
    method: HttpRequest['method'],
    path: string,
    body?: unknown,
    options?: RequestOptions,
  ): Promise<Body> {
    const answer = await this.request(method, path, body, options)
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** Sends a request, asserts an error with this code and reason, and returns the Status. */
  async refused(
    code: number,
    reason: string,
    method: HttpRequest['method'],
    path: string,
    body?: unknown,
    options?: RequestOptions,
  ): Promise<Body> {
    const status = await this.expect(code, method, path, body, options)
    assert.equal(status.kind, 'Status')
    assert.equal(status.code, code)
    assert.equal(status.status, 'Failure')
    assert.equal(status.reason ?? '', reason, status.message)
    return status
  }

  foo(name: string, spec: unknown = { size: 1 }, metadata: Record<string, unknown> = {}): Body {
    return { apiVersion: `${this.group}/v1`, kind: 'Foo', metadata: { name, ...metadata }, spec }
  }

  /** Opens a watch. `next` returns the next event, or undefined at the end of the watch. */
  async watch(
    path: string,
    query = '',
    accept = 'application/json',
  ): Promise<{ next(): Promise<WatchEvent | undefined>; cancel(): void }> {
    const separator = path.includes('?') ? '&' : '?'
    const request: HttpRequest = {
      method: 'GET',
      path: `${path}${separator}watch=true&timeoutSeconds=60${query && `&${query}`}`,
      headers: { accept, 'user-agent': 'tester/1' },
    }
    let response = await this.#transport(request)
    // The real server answers 429 until its watch cache of a new or changed definition is filled.
    for (let tries = 0; response.status === 429 && tries < 5000; tries++) {
      assert.match(await response.body.text(), /storage is \(re\)initializing/)
      response = await this.#transport(request)
    }
    assert.equal(response.status, 200, response.status === 200 ? '' : await response.body.text())
    const batches = lineBatches(response.body)
    const waiting: string[] = []
    return {
      async next() {
        while (waiting.length === 0) {
          const batch = await batches.next()
          if (batch.done) return undefined
          waiting.push(...batch.value)
        }
        return JSON.parse(waiting.shift()!) as WatchEvent
      },
      cancel: () => response.body.cancel(),
    }
  }

  async #install(): Promise<void> {
    await this.expect(201, 'POST', CRDS, this.fooDefinition())
    const watch = await this.watch(CRDS, `fieldSelector=metadata.name%3Dfoos.${this.group}`)
    for (let isEstablished = false; !isEstablished;) {
      const event = await watch.next()
      assert.ok(event, 'the watch ended before the definition was established')
      isEstablished = event.object.status.conditions?.some((each: Body) =>
        each.type === 'Established' && each.status === 'True'
      ) ?? false
    }
    watch.cancel()
    await this.untilServed(`/apis/${this.group}/v2/foos`)
  }

  /** Resolves when a custom kind is served: on a real server shortly after its definition is established. */
  async untilServed(path: string): Promise<void> {
    await untilServed(this.#transport, path)
  }

  fooDefinition(): Body {
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `foos.${this.group}` },
      spec: {
        group: this.group,
        scope: 'Namespaced',
        names: { plural: 'foos', kind: 'Foo', shortNames: ['fo'] },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: FOO_SCHEMA },
            selectableFields: [{ jsonPath: '.spec.mode' }],
            subresources: {
              status: {},
              scale: {
                specReplicasPath: '.spec.size',
                statusReplicasPath: '.status.ready',
                labelSelectorPath: '.status.selector',
              },
            },
            additionalPrinterColumns: [
              { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
              { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
              { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
            ],
          },
          {
            name: 'v2',
            served: true,
            storage: false,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    }
  }
}

export const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** The state that the cases of one server share. */
export interface SharedKinds {
  installed?: Promise<void>
  /** Drops the history of the server, if it supports that. */
  readonly compact?: () => void
  /** The webhooks that the server can call. */
  readonly hooks?: Hooks
}

const FOO_SCHEMA = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 0, maximum: 10 },
        mode: { type: 'string', enum: ['fast', 'slow'], default: 'fast' },
        name: { type: 'string', pattern: '^[a-z]+$', minLength: 2, maxLength: 5 },
        when: { type: 'string', format: 'date-time' },
        port: { 'x-kubernetes-int-or-string': true },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'protocol'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              protocol: { type: 'string', default: 'TCP' },
              value: { type: 'integer' },
            },
          },
        },
        plain: { type: 'array', items: { type: 'string' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        optional: { type: 'string', nullable: true },
        nested: { type: 'object', default: {}, properties: { deep: { type: 'integer', default: 7 } } },
      },
    },
    status: {
      type: 'object',
      properties: {
        ready: { type: 'integer' },
        selector: { type: 'string' },
        conditions: {
          type: 'array',
          items: { type: 'object', properties: { type: { type: 'string' }, status: { type: 'string' } } },
        },
      },
    },
  },
}
