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
  [
    'a domain with a dot does not match the name itself',
    'https://corp',
    { HTTPS_PROXY: PROXY, NO_PROXY: '.corp' },
    PROXY,
  ],
  ['a name with the same ending', 'https://evilcorp', { HTTPS_PROXY: PROXY, NO_PROXY: 'corp' }, PROXY],
  ['exempt by port', 'https://api:6443', { HTTPS_PROXY: PROXY, NO_PROXY: 'api:6443' }, undefined],
  ['another port', 'https://api:6443', { HTTPS_PROXY: PROXY, NO_PROXY: 'api:443' }, PROXY],
  ['the usual port', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: 'api:443' }, undefined],
  ['exempt by range', 'https://10.96.0.1:443', { HTTPS_PROXY: PROXY, no_proxy: '10.0.0.0/8' }, undefined],
  ['outside of the range', 'https://11.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' }, PROXY],
  ['the range of everything', 'https://11.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '0.0.0.0/0' }, undefined],
  ['an invalid range', 'https://10.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/x,/8' }, PROXY],
  ['exempt IPv6', 'https://[fd00::1]:6443', { HTTPS_PROXY: PROXY, NO_PROXY: '[fd00::1]' }, undefined],
  ['exempt IPv6 without brackets', 'https://[fd00::1]:6443', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::1' }, undefined],
  ['exempt IPv6 with groups that look like a port', 'https://[fd00:10:96::1]:443', {
    HTTPS_PROXY: PROXY,
    NO_PROXY: 'fd00:10:96::1',
  }, undefined],
  ['exempt IPv6, written in another way', 'https://[fd00:10:96::1]:443', {
    HTTPS_PROXY: PROXY,
    NO_PROXY: 'FD00:0010:96:0:0::0001',
  }, undefined],
  [
    'IPv6 in brackets with its port',
    'https://[fd00::1]:6443',
    { HTTPS_PROXY: PROXY, NO_PROXY: '[fd00::1]:6443' },
    undefined,
  ],
  [
    'IPv6 in brackets with another port',
    'https://[fd00::1]:6443',
    { HTTPS_PROXY: PROXY, NO_PROXY: '[fd00::1]:443' },
    PROXY,
  ],
  ['another IPv6 address', 'https://[fd00::2]', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::1' }, PROXY],
  [
    'exempt by IPv6 range',
    'https://[fd00:10:96::1]:443',
    { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8,fd00::/8' },
    undefined,
  ],
  ['outside of the IPv6 range', 'https://[fe00::1]', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::/8' }, PROXY],
  [
    'the last bit of an IPv6 range, inside',
    'https://[fd00::fffe]',
    { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::ffff/127' },
    undefined,
  ],
  [
    'the last bit of an IPv6 range, outside',
    'https://[fd00::fffd]',
    { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::ffff/127' },
    PROXY,
  ],
  ['an IPv6 range of one', 'https://[fd00::1]', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::1/128' }, undefined],
  ['an IPv6 range of everything', 'https://[fd00::1]', { HTTPS_PROXY: PROXY, NO_PROXY: '::/0' }, undefined],
  [
    'an IPv6 range of everything does not match IPv4',
    'https://10.0.0.1',
    { HTTPS_PROXY: PROXY, NO_PROXY: '::/0' },
    PROXY,
  ],
  [
    'an IPv4 range of everything does not match IPv6',
    'https://[fd00::1]',
    { HTTPS_PROXY: PROXY, NO_PROXY: '0.0.0.0/0' },
    PROXY,
  ],
  ['an IPv6 range that is too long', 'https://[fd00::1]', { HTTPS_PROXY: PROXY, NO_PROXY: 'fd00::1/129' }, PROXY],
  ['an IPv4 range that is too long', 'https://10.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.1/33' }, PROXY],
  [
    'IPv4 within IPv6, by address',
    'https://[::ffff:10.0.0.1]',
    { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.1' },
    undefined,
  ],
  [
    'IPv4 within IPv6, by range',
    'https://[::ffff:10.0.0.1]',
    { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.0/8' },
    undefined,
  ],
  ['the last bit of a range', 'https://10.0.0.2', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.1/31' }, PROXY],
  ['an address with its port', 'https://10.0.0.1:6443', { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.1:6443' }, undefined],
  [
    'an address is not the end of a name',
    'https://a.10.0.0.1.test',
    { HTTPS_PROXY: PROXY, NO_PROXY: '10.0.0.1' },
    PROXY,
  ],
  ['an invalid address', 'https://10.0.0.1', { HTTPS_PROXY: PROXY, NO_PROXY: '010.0.0.1,10.0.0.256,::g' }, PROXY],
  ['a range does not match a name', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: '0.0.0.0/0' }, PROXY],
  ['a port alone', 'https://api:6443', { HTTPS_PROXY: PROXY, NO_PROXY: ':6443' }, PROXY],
  ['all of loopback', 'https://127.1.2.3', { HTTPS_PROXY: PROXY }, undefined],
  ['loopback within IPv6', 'https://[::ffff:127.0.0.1]', { HTTPS_PROXY: PROXY }, undefined],
  ['a name with the prefix of loopback', 'https://127.0.0.1.example.com', { HTTPS_PROXY: PROXY }, PROXY],
  ['exempt by domain with a star', 'https://api.corp', { HTTPS_PROXY: PROXY, NO_PROXY: '*.corp' }, undefined],
  ['upper case overrides lower case', 'https://api', {
    HTTPS_PROXY: PROXY,
    https_proxy: 'http://other',
    NO_PROXY: 'x',
    no_proxy: 'api',
  }, PROXY],
  ['an empty list', 'https://api', { HTTPS_PROXY: PROXY, NO_PROXY: ', ,' }, PROXY],
]

for (const [name, server, variables, proxy] of CASES) {
  test(`the proxy of the environment: ${name}`, () => {
    assert.equal(proxyFromEnvironment(server, (variable) => variables[variable]), proxy)
  })
}
