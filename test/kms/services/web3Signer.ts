import { secp256k1 } from '@noble/curves/secp256k1'
import { type Hex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { web3SignerAccount } from '../../../src/kms/index.js'
import { derOf } from '../../../src/kms/kms.fixture.js'
import { createScript, type HttpAnswer, type StartService, startHttpService } from './service.js'

const OTHER = `0x${'4d'.repeat(32)}` as const

/**
 * Web3Signer's eth1 API (openapi-specs/eth1/web3signer.yaml): it identifies keys by the 64 bytes of their
 * points, and signs the keccak hash of the given data (CredentialSigner.java, `needToHash`).
 */
export const startWeb3Signer: StartService = async (key) => {
  const script = createScript()
  const text = (body: string, status = 200, headers = {}): HttpAnswer => ({
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    body,
  })
  const { publicKey, address } = privateKeyToAccount(key)
  const identifier = `0x${publicKey.slice(4)}`

  function publicKeys(): HttpAnswer {
    const other = `0x${privateKeyToAccount(OTHER).publicKey.slice(4)}`
    const keys = script.key === 'good' ? [other, identifier] : [other]
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(keys) }
  }

  function signature(path: string, body: string): HttpAnswer {
    const { data } = JSON.parse(body) as { data: Hex }
    const { reply, isHigh } = script.next()
    if (reply === 'hangs') return reply
    if (path !== `/api/v1/eth1/sign/${identifier}`) return text('Public Key not found', 404)
    switch (reply) {
      case 'throttles':
        return text('Too Many Requests', 429, { 'retry-after': '0' })
      case 'fails':
        return text('unavailable', 503)
      case 'refuses':
        return text('Bad request format', 400)
      case 'drops':
        return reply
      default: {
        const der = derOf(reply === 'signs' ? key : OTHER, keccak256(data, 'bytes'), isHigh)
        // The client ignores the value of v.
        return text(`0x${secp256k1.Signature.fromDER(der).toCompactHex()}1b`)
      }
    }
  }

  const server = await startHttpService(({ path, body }) =>
    path.endsWith('/publicKeys') ? publicKeys() : signature(path, body),
  )
  return Object.assign(script, {
    account: (options = {}) => web3SignerAccount({ url: server.url, address, ...options }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  })
}
