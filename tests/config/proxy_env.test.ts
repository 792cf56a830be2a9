import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyFromEnvironment } from '../../lib/config/proxy_env.ts'

const PROXY = 'http://corp:3128'

const CASES: readonly [name: string, server: string, variables: Record<string, string>, proxy: string | undefined][] = [
  ['nothing set', 'https://api', {}, undefined],
  ['by scheme: https', 'https://api', { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://other' }, PROXY],
  ['by scheme: http', 'http://api', { HTTPS_PROXY: 'http://other', HTTP_PROXY: PROXY }, PROXY],
  ['lower case', 'https://api', { https_proxy: PROXY }, PROXY],
  ['without a scheme', 'https://api', { HTTPS_PROXY: 'corp:3128' }, PROXY],
  ['loopback', 'https://localhost:6443', { HTTPS_PROXY: PROXY }, undefined],
  ['loopback by address', 'https://127.0.0.1:6443', { HTTPS_PROXY: PROXY }, undefined],
  ['loopback, IPv6', 'https://[::1]:6443', { HTTPS_PROXY: PROXY }, undefined],
  ['everything exempt', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: '*' }, undefined],
  ['exempt by name', 'https://api.corp', { HTTPS_PROXY: PROXY, NO_PROXY: 'x, API.corp' }, undefined],
  ['exempt by domain', 'https://api.corp', { HTTPS_PROXY: PROXY, NO_PROXY: 'corp' }, undefined],
  ['exempt by domain with a dot', 'https://api.corp', { HTTPS_PROXY: PROXY, NO_PROXY: '.corp' }, undefined],
  ['a domain with a dot is not the name itself', 'https://corp', { HTTPS_PROXY: PROXY, NO_PROXY: '.corp' }, PROXY],
  ['a name that only ends alike', 'https://evilcorp', { HTTPS_PROXY: PROXY, NO_PROXY: 'corp' }, PROXY],
  ['exempt by port', 'https://api:6443', { HTTPS_PROXY: PROXY, NO_PROXY: 'api:6443' }, undefined],
  ['another port', 'https://api:6443', { HTTPS_PROXY: PROXY, NO_PROXY: 'api:443' }, PROXY],
  ['the usual port', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: 'api:443' }, undefined],
  ['exempt by range', 'https://10.96.0.1:443', { HTTPS_PROXY: PROXY, no_proxy: '10.0.0.0/8' }, undefined],
  ['outside of the range', 'https://11.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' }, PROXY],
  ['the range of everything', 'https://11.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '0.0.0.0/0' }, undefined],
  ['a range that is none', 'https://10.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/x,/8' }, PROXY],
  ['exempt IPv6', 'https://[fd00::1]:6443', { HTTPS_PROXY: PROXY, NO_PROXY: '[fd00::1]' }, undefined],
  ['exempt IPv6 without brackets', 'https://[fd00::1]:6443', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::1' }, undefined],
  ['an empty list', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: ', ,' }, PROXY],
]

for (const [name, server, variables, proxy] of CASES) {
  test(`the proxy of the environment: ${name}`, () => {
    assert.equal(proxyFromEnvironment(server, (variable) => variables[variable]), proxy)
  })
}
