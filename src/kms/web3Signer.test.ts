import { type Hex, hashMessage, keccak256 } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import type { TxlaneError } from '../errors/base.js'
import { azureKeyVaultAccount } from './azureKeyVault.js'
import { googleKmsAccount } from './googleKms.js'
import { KEY } from './kms.fixture.js'
import { type Web3SignerParameters, web3SignerAccount } from './web3Signer.js'

const plain = privateKeyToAccount(KEY)
const other = privateKeyToAccount(`0x${'4c'.repeat(32)}`)
const nameOf = (publicKey: Hex) => `0x${publicKey.slice(4)}`

const thrown = (promise: Promise<unknown>): Promise<TxlaneError> =>
  promise.then(
    () => Promise.reject(new Error('it resolved')),
    (error: TxlaneError) => error,
  )

/** A Web3Signer with the listed keys, which signs with the first one. */
function web3Signer(listed: unknown = [nameOf(plain.publicKey)]) {
  const requests: { url: string; init: RequestInit }[] = []
  const fetchFn = async (url: string, init: RequestInit) => {
    requests.push({ url, init })
    if (url.endsWith('/publicKeys'))
      return new Response(typeof listed === 'string' ? listed : JSON.stringify(listed))
    const { data } = JSON.parse(String(init.body)) as { data: Hex }
    const { r, s, v } = await sign({ hash: keccak256(data), privateKey: KEY })
    return new Response(`${r}${s.slice(2)}${v?.toString(16)}`)
  }
  const open = (given: Partial<Web3SignerParameters> = {}) =>
    web3SignerAccount({ url: 'http://web3signer:9000', fetchFn: fetchFn as typeof fetch, ...given })
  return { open, requests }
}

describe('the account of a key in Web3Signer', () => {
  test('is requested below the path of its URL, with credentials as a header, and without following redirects', async () => {
    const { open, requests } = web3Signer()
    const account = await open({ url: 'https://me:pass@host.example/signer/', headers: { 'x-tenant': 'a' } })
    expect(await account.signMessage({ message: 'a' })).toBe(await plain.signMessage({ message: 'a' }))
    expect(requests.map(({ url }) => url)).toEqual([
      'https://host.example/signer/api/v1/eth1/publicKeys',
      `https://host.example/signer/api/v1/eth1/sign/${nameOf(plain.publicKey)}`,
    ])
    for (const { init } of requests) {
      const headers = new Headers(init.headers)
      expect(headers.get('authorization')).toBe(`Basic ${btoa('me:pass')}`)
      expect(headers.get('x-tenant')).toBe('a')
      expect(init.redirect).toBe('manual')
    }
  })

  test('has its only key, or the key with the address, in any notation', async () => {
    const names = [other.publicKey, plain.publicKey].map(nameOf)
    expect((await web3Signer().open()).address).toBe(plain.address)
    const address = plain.address.toLowerCase() as Hex
    for (const listed of [names, names.map((name) => name.slice(2)), [...names, 'no key', 7, '0x00']])
      expect((await web3Signer(listed).open({ address })).address).toBe(plain.address)
  })

  test('is refused if the key is ambiguous or missing', async () => {
    const names = [other.publicKey, plain.publicKey].map(nameOf)
    const several = await thrown(web3Signer(names).open())
    expect(several).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(several.message).toContain('An address is needed to choose one.')
    expect(several.message).toContain(plain.address)
    const absent = await thrown(web3Signer([names[0]]).open({ address: plain.address }))
    expect(absent.message).toContain(`None of them has the address ${plain.address}.`)
    for (const listed of [[], {}, '<html>', '', 'null'])
      expect(await thrown(web3Signer(listed).open())).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
  })

  test('refuses to sign a bare hash, and names the alternatives', async () => {
    const account = await web3Signer().open()
    const error = await thrown(account.sign({ hash: hashMessage('a') }))
    expect(error).toMatchObject({ code: 'UNSUPPORTED', fate: 'notExecuted' })
  })

  test('reports why it cannot be reached, without the credentials of its URL', async () => {
    const down = async () => {
      const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9000'), { code: 'ECONNREFUSED' })
      throw new TypeError('fetch failed', { cause })
    }
    const url = 'http://me:pass-w0rd@127.0.0.1:9000'
    const error = await thrown(web3SignerAccount({ url, fetchFn: down as typeof fetch, timeoutMs: 50 }))
    expect(error).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    expect(error.details).toContain('ECONNREFUSED')
    expect(String(error.stack)).not.toContain('pass-w0rd')
  })
})

describe('an invalid argument', () => {
  const WRONG: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => web3SignerAccount({} as never), 'Invalid url'],
    [() => web3SignerAccount({ url: 'web3signer:9000' }), 'Invalid url'],
    [() => web3SignerAccount({ url: 'http://' }), 'Invalid url'],
    [() => web3SignerAccount({ url: 'http://a', address: '0x12' }), 'Invalid address'],
    [() => web3SignerAccount({ url: 'http://a', headers: { 'a b': 'c' } }), 'Invalid headers'],
    [() => web3SignerAccount({ url: 'http://a', fetchFn: 7 as never }), 'Invalid fetchFn'],
    [() => web3SignerAccount({ url: 'http://a', adress: plain.address } as never), 'did you mean address?'],
    [() => googleKmsAccount({ client: {} as never, keyVersion: 'a' }), 'Invalid client'],
    [() => googleKmsAccount({ client: google, keyVersion: 'relayer' }), 'Invalid keyVersion'],
    [
      () => googleKmsAccount({ client: google, keyVersion: `${CRYPTO_KEY}/cryptoKeyVersions/` }),
      'Invalid keyVersion',
    ],
    [() => googleKmsAccount({ client: google, keyVersion: CRYPTO_KEY }), 'Invalid keyVersion'],
    [() => azureKeyVaultAccount({ client: {} as never, keyName: 'a' }), 'Invalid client'],
    [() => azureKeyVaultAccount({ client: azure, keyName: '' }), 'Invalid keyName'],
    [() => azureKeyVaultAccount({ client: azure, keyName: 'a', keyVersion: '' }), 'Invalid keyVersion'],
    [() => azureKeyVaultAccount({ client: azure, name: 'a' } as never), 'did you mean keyName?'],
  ]
  test.each(WRONG)('is refused with its name before any request (%#)', async (open, said) => {
    const error = await thrown(open())
    expect(error).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
    expect(error.message).toContain(said)
  })
})

const CRYPTO_KEY = 'projects/p/locations/l/keyRings/r/cryptoKeys/k'
const unasked = () => Promise.reject(new Error('it was asked'))
const google = { getPublicKey: unasked, asymmetricSign: unasked }
const azure = { getKey: unasked, getCryptographyClient: () => ({ sign: unasked }) }
