import { type Address, type Hex, hexToBytes, isAddress, isAddressEqual } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import { responseText } from '../rpc/transports/boundedText.js'
import { withoutCredentials } from '../rpc/transports/credentials.js'
import { bytesOf, hexOf } from '../signer/hex.js'
import { systemEnvironment } from './environment.js'
import { checkText, type ServiceOptions, serviceSettings } from './options.js'
import { fromPoint, type PublicKey } from './publicKey.js'
import { createService } from './service.js'
import { type ServiceAccount, serviceAccountOf } from './serviceAccount.js'
import { signerError } from './signerError.js'
import { HttpFailure } from './transient.js'

/** What `web3SignerAccount` takes. */
export type Web3SignerParameters = ServiceOptions & {
  /** Where Web3Signer listens: `http://web3signer:9000`. User and password in it become Basic authentication. */
  url: string
  /** Whose key signs. @default that of its only key */
  address?: Address | undefined
  /** Sent with each request, for a proxy in front of it. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Sends the requests: one of your own has client certificates, say. @default the global `fetch`, looked up each time */
  fetchFn?: typeof fetch | undefined
}

const NAMES = { url: true, address: true, headers: true, fetchFn: true } as const
/** Of an answer: a list of some thousand keys. */
const ANSWER_BYTES_MAX = 1024 * 1024

/**
 * The account of a key in Web3Signer, which runs as `web3signer eth1`. It is asked over its REST API
 * (`/api/v1/eth1/publicKeys` and `/api/v1/eth1/sign/{identifier}`), which hashes the data that it is given with keccak and
 * signs that: transactions of every type, messages, typed data and authorizations, but no hash alone, so that
 * `account.sign` throws `UNSUPPORTED`. The public key is read once, here.
 *
 * While the service throttles, fails or does not answer, a request is made again, at first after 50 to 100 ms, later after
 * 5 s at most, or as long as its `Retry-After` says, until `timeoutMs` is over. What it refuses fails at once. Redirections
 * are not followed. Not guaranteed: that nobody else gets signatures there; it asks for no credentials by itself.
 *
 * @throws TxlaneError `INVALID` for an argument that cannot work; `SIGNER` where it does not have the key or is not to be
 * had, with the words of the service. Signing throws `SIGNER` likewise
 * @example
 * const relayer = await web3SignerAccount({ url: 'http://web3signer:9000', address })
 * const sender = createSender({ client: baseClient, account: relayer })
 */
export async function web3SignerAccount(
  parameters: Web3SignerParameters,
): Promise<ServiceAccount<'web3Signer'>> {
  const settings = serviceSettings(parameters, NAMES)
  const request = requesterOf(parameters)
  const { address } = parameters
  if (address !== undefined && !isAddress(address)) throw invalid('address', address, 'an address')
  const service = createService('Web3Signer', settings, systemEnvironment)
  const listed = await service.call('list its public keys', (signal) => request('publicKeys', { signal }))
  const publicKey = pick(listed, address)
  // It names its keys without the first byte of the point.
  const path = `sign/0x${hexOf(publicKey).slice(4)}`
  return serviceAccountOf({
    service,
    source: 'web3Signer',
    publicKey,
    concurrency: settings.concurrency,
    async ask({ preimage }, signal) {
      if (preimage === undefined) throw noHashes()
      const body = JSON.stringify({ data: preimage() })
      return { rs: signatureIn(await request(path, { signal, method: 'POST', body })) }
    },
  })
}

type Requester = (path: string, init: RequestInit) => Promise<string>

/** @throws TxlaneError `INVALID` */
function requesterOf({ url, headers: given, fetchFn }: Web3SignerParameters): Requester {
  checkText('url', url, 'an http(s) URL', /^https?:\/\//i)
  if (!URL.canParse(url)) throw invalid('url', url, 'an http(s) URL')
  if (fetchFn !== undefined && typeof fetchFn !== 'function') throw invalid('fetchFn', fetchFn, 'a function')
  const headers = headersOf(given)
  const base = withoutCredentials(url, headers).replace(/\/*$/, '')
  return async (path, init) => {
    const send = fetchFn ?? fetch
    const response = await send(`${base}/api/v1/eth1/${path}`, { ...init, headers, redirect: 'manual' })
    const text = (await responseText(response, ANSWER_BYTES_MAX)).trim()
    if (response.status !== 200)
      throw new HttpFailure(response.status, text, response.headers.get('retry-after') ?? undefined)
    return text
  }
}

/** @throws TxlaneError `INVALID`, which shows no value: it may be a token */
function headersOf(given: unknown): Headers {
  try {
    const headers = new Headers((given ?? {}) as Record<string, string>)
    headers.set('content-type', 'application/json')
    return headers
  } catch {
    throw invalid('headers', given, 'names and values of HTTP headers')
  }
}

/** @throws TxlaneError `SIGNER` where the key is not among those that it listed, or not clear */
function pick(listed: string, address: Address | undefined): PublicKey {
  const keys = keysIn(listed)
  const addresses = keys.map((key) => publicKeyToAddress(hexOf(key)))
  const at = address === undefined ? 0 : addresses.findIndex((one) => isAddressEqual(one, address))
  const key = keys[at]
  if (key !== undefined && (address !== undefined || keys.length === 1)) return key
  const wanted = address === undefined ? 'It takes an address to choose one.' : `None is of ${address}.`
  throw signerError(
    `Web3Signer has ${keys.length} keys of secp256k1. ${wanted}`,
    `Its keys are of ${addresses.slice(0, 10).join(', ') || 'no address'}`,
  )
}

function keysIn(listed: string): readonly PublicKey[] {
  const names = parse(listed)
  if (!Array.isArray(names))
    throw signerError('Web3Signer did not list its public keys.', `It said ${listed}`)
  return names.flatMap((name: unknown) => {
    const isPoint = typeof name === 'string' && /^(?:0x)?[0-9a-f]{64,130}$/i.test(name)
    const key = isPoint ? fromPoint(hexToBytes(`0x${name.replace(/^0x/i, '')}`)) : undefined
    return key ?? []
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** r, s and v in hex; v is found anew. */
function signatureIn(text: string): Uint8Array {
  const digits = text.replace(/^"?0x|"$/g, '')
  return /^(?:[0-9a-f]{2}){64,}$/i.test(digits) ? bytesOf(`0x${digits}` as Hex) : new Uint8Array()
}

function noHashes(): TxlaneError {
  return new TxlaneError(
    'Web3Signer signs no hash: it hashes what it is given. Use signMessage, signTypedData or signTransaction.',
    { code: 'UNSUPPORTED', fate: 'notExecuted' },
  )
}
