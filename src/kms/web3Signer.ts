import { type Address, type Hex, hexToBytes, isAddress, isAddressEqual } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import { responseText } from '../rpc/transports/boundedText.js'
import { withoutCredentials } from '../rpc/transports/httpMessage.js'
import { bytesOf, hexOf } from '../signer/hex.js'
import { checkText, type ServiceOptions, serviceSettings, systemEnvironment } from './options.js'
import { fromPoint, type PublicKey } from './publicKey.js'
import { createService, HttpFailure, signerError } from './service.js'
import { type ServiceAccount, serviceAccountOf } from './serviceAccount.js'

/** The parameters of `web3SignerAccount`. */
export type Web3SignerParameters = ServiceOptions & {
  /** The URL of Web3Signer: `http://web3signer:9000`. User and password in it become Basic authentication. */
  url: string
  /** The address of the signing key. @default the address of its only key */
  address?: Address | undefined
  /** Additional headers of each request, for a proxy in front of it. @default none */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * The function that sends the requests. Use your own for client certificates, for example. @default the
   * global `fetch`, looked up each time
   */
  fetchFn?: typeof fetch | undefined
}

const NAMES = { url: true, address: true, headers: true, fetchFn: true } as const
/** Maximum size of an answer: a list of some thousand keys. */
const ANSWER_BYTES_MAX = 1024 * 1024

/**
 * Creates the account of a key in Web3Signer, which runs as `web3signer eth1`. Its REST API
 * (`/api/v1/eth1/publicKeys` and `/api/v1/eth1/sign/{identifier}`) hashes the given data with keccak and
 * signs the hash. So the account signs transactions of every type, messages, typed data and authorizations,
 * but no bare hash: `account.sign` throws `UNSUPPORTED`. The public key is read once, by this call.
 *
 * While the service throttles, fails or does not answer, a request is retried, first after 50 to 100 ms,
 * later after at most 5 s, or after the pause in its `Retry-After`, until `timeoutMs` is over. A refusal
 * fails at once. Redirects are not followed. Not guaranteed: that other clients cannot get signatures there,
 * because Web3Signer by itself asks for no credentials.
 *
 * @throws TxlaneError `INVALID` for an invalid argument; `SIGNER` if the service does not have the key or is
 *   unavailable, with its message. Signing throws `SIGNER` in the same cases
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
  // Web3Signer identifies its keys without the first byte of the point.
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

/** @throws TxlaneError `INVALID`, without the value, which may be a token */
function headersOf(given: unknown): Headers {
  try {
    const headers = new Headers((given ?? {}) as Record<string, string>)
    headers.set('content-type', 'application/json')
    return headers
  } catch {
    throw invalid('headers', given, 'names and values of HTTP headers')
  }
}

/** @throws TxlaneError `SIGNER` if the listed keys do not contain the key, or if the choice is ambiguous */
function pick(listed: string, address: Address | undefined): PublicKey {
  const keys = keysIn(listed)
  const addresses = keys.map((key) => publicKeyToAddress(hexOf(key)))
  const at = address === undefined ? 0 : addresses.findIndex((one) => isAddressEqual(one, address))
  const key = keys[at]
  if (key !== undefined && (address !== undefined || keys.length === 1)) return key
  const wanted =
    address === undefined ? 'An address is needed to choose one.' : `None of them has the address ${address}.`
  throw signerError(
    `Web3Signer has ${keys.length} keys of secp256k1. ${wanted}`,
    `Its keys have the addresses ${addresses.slice(0, 10).join(', ') || 'none'}`,
  )
}

function keysIn(listed: string): readonly PublicKey[] {
  const names = parse(listed)
  if (!Array.isArray(names))
    throw signerError('Web3Signer did not list its public keys.', `It answered ${listed}`)
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

/** r, s and v in hex. v is not used, but computed again. */
function signatureIn(text: string): Uint8Array {
  const digits = text.replace(/^"?0x|"$/g, '')
  return /^(?:[0-9a-f]{2}){64,}$/i.test(digits) ? bytesOf(`0x${digits}` as Hex) : new Uint8Array()
}

function noHashes(): TxlaneError {
  return new TxlaneError(
    'Web3Signer cannot sign a bare hash, because it hashes its input. Use signMessage, signTypedData or signTransaction.',
    { code: 'UNSUPPORTED', fate: 'notExecuted' },
  )
}
