import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyFromEnvironment } from '../../lib/config/proxy_env.ts'

const PROXY = 'http://corp:3128'
const OTHER = 'http://other'

const VARIABLES: readonly [name: string, server: string, variables: Record<string, string>, proxy?: string][] = [
  ['nothing set', 'https://api', {}],
  ['by scheme: https', 'https://api', { HTTPS_PROXY: PROXY, HTTP_PROXY: OTHER }, PROXY],
  ['by scheme: http', 'http://api', { HTTPS_PROXY: OTHER, HTTP_PROXY: PROXY }, PROXY],
  ['lower case', 'https://api', { https_proxy: PROXY }, PROXY],
  ['lower case, exempt', 'https://10.96.0.1:443', { HTTPS_PROXY: PROXY, no_proxy: '10.0.0.0/8' }],
  ['upper case overrides lower case', 'https://api', { HTTPS_PROXY: PROXY, https_proxy: OTHER }, PROXY],
  ['upper case exempts alone', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: 'x', no_proxy: 'api' }, PROXY],
  ['without a scheme', 'https://api', { HTTPS_PROXY: 'corp:3128' }, PROXY],
  ['of a server that is no URL', 'https://[', { HTTPS_PROXY: PROXY }],
]

for (const [name, server, variables, proxy] of VARIABLES) {
  test(`the proxy of the environment: ${name}`, () => {
    assert.equal(proxyFromEnvironment(server, (variable) => variables[variable]), proxy)
  })
}

/** Servers that are exempt by NO_PROXY, or always. */
const EXEMPT: readonly [name: string, server: string, exempt?: string][] = [
  ['loopback', 'https://localhost:6443'],
  ['loopback by address', 'https://127.0.0.1:6443'],
  ['all of loopback', 'https://127.1.2.3'],
  ['loopback, IPv6', 'https://[::1]:6443'],
  ['loopback within IPv6', 'https://[::ffff:127.0.0.1]'],
  ['everything', 'https://api', '*'],
  ['a name', 'https://api.corp', 'x, API.corp'],
  ['a domain', 'https://api.corp', 'corp'],
  ['a domain with a dot', 'https://api.corp', '.corp'],
  ['a domain with a star', 'https://api.corp', '*.corp'],
  ['a port', 'https://api:6443', 'api:6443'],
  ['the usual port', 'https://api', 'api:443'],
  ['the usual port without TLS', 'http://api', 'api:80'],
  ['an address with its port', 'https://10.0.0.1:6443', '10.0.0.1:6443'],
  ['the range of everything', 'https://11.0.0.1', '0.0.0.0/0'],
  ['IPv6', 'https://[fd00::1]:6443', '[fd00::1]'],
  ['IPv6 without brackets', 'https://[fd00::1]:6443', 'fd00::1'],
  ['IPv6 with groups that look like a port', 'https://[fd00:10:96::1]:443', 'fd00:10:96::1'],
  ['IPv6, written in another way', 'https://[fd00:10:96::1]:443', 'FD00:0010:96:0:0::0001'],
  ['IPv6 in brackets with its port', 'https://[fd00::1]:6443', '[fd00::1]:6443'],
  ['an IPv6 range', 'https://[fd00:10:96::1]:443', '10.0.0.0/8,fd00::/8'],
  ['the last bit of an IPv6 range, inside', 'https://[fd00::fffe]', 'fd00::ffff/127'],
  ['an IPv6 range of one', 'https://[fd00::1]', 'fd00::1/128'],
  ['an IPv6 range of everything', 'https://[fd00::1]', '::/0'],
  ['IPv4 within IPv6, by address', 'https://[::ffff:10.0.0.1]', '10.0.0.1'],
  ['IPv4 within IPv6, by range', 'https://[::ffff:10.0.0.1]', '10.0.0.0/8'],
]

const PROXIED: readonly [name: string, server: string, exempt?: string][] = [
  ['a name with the prefix of loopback', 'https://127.0.0.1.example.com'],
  ['a domain with a dot is not the name itself', 'https://corp', '.corp'],
  ['a name with the same ending', 'https://evilcorp', 'corp'],
  ['another port', 'https://api:6443', 'api:443'],
  ['a port alone', 'https://api:6443', ':6443'],
  ['outside of the range', 'https://11.0.0.1', '10.0.0.0/8'],
  ['the last bit of a range', 'https://10.0.0.2', '10.0.0.1/31'],
  ['a range does not match a name', 'https://api', '0.0.0.0/0'],
  ['an invalid range', 'https://10.0.0.1', '10.0.0.0/x,/8'],
  ['an IPv4 range that is too long', 'https://10.0.0.1', '10.0.0.1/33'],
  ['an invalid address', 'https://10.0.0.1', '010.0.0.1,10.0.0.256,::g'],
  ['an address is not the end of a name', 'https://a.10.0.0.1.test', '10.0.0.1'],
  ['IPv6 in brackets with another port', 'https://[fd00::1]:6443', '[fd00::1]:443'],
  ['another IPv6 address', 'https://[fd00::2]', 'fd00::1'],
  ['outside of the IPv6 range', 'https://[fe00::1]', 'fd00::/8'],
  ['the last bit of an IPv6 range, outside', 'https://[fd00::fffd]', 'fd00::ffff/127'],
  ['an IPv6 range that is too long', 'https://[fd00::1]', 'fd00::1/129'],
  ['an IPv6 range of everything does not match IPv4', 'https://10.0.0.1', '::/0'],
  ['an IPv4 range of everything does not match IPv6', 'https://[fd00::1]', '0.0.0.0/0'],
  ['an empty list', 'https://api', ', ,'],
]

for (const [table, proxy] of [[EXEMPT, undefined], [PROXIED, PROXY]] as const) {
  for (const [name, server, exempt] of table) {
    test(`${proxy ? 'not exempt' : 'exempt'} from the proxy: ${name}`, () => {
      const variables: Record<string, string | undefined> = { HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY, NO_PROXY: exempt }
      assert.equal(proxyFromEnvironment(server, (variable) => variables[variable]), proxy)
    })
  }
}
