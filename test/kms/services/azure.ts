import { createDefaultHttpClient, type HttpClient } from '@azure/core-rest-pipeline'
import { KeyClient } from '@azure/keyvault-keys'
import { secp256k1 } from '@noble/curves/secp256k1'
import { azureKeyVaultAccount } from '../../../src/kms/index.js'
import { derOf, spkiOf } from '../../../src/kms/kms.fixture.js'
import {
  createScript,
  type HttpAnswer,
  type HttpRequest,
  type StartService,
  startHttpService,
} from './service.js'

const VAULT = 'https://relayers.vault.azure.net'
const VERSION = '78deebed173b48e48f55abf87ed4cf71'
const OTHER = `0x${'4d'.repeat(32)}` as const
const base64Url = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

/** Azure Key Vault REST API: `GET /keys/{name}/{version}`, `POST /keys/{name}/{version}/sign`. */
export const startAzure: StartService = async (key) => {
  const script = createScript()
  const json = (body: object, status = 200, headers = {}): HttpAnswer => ({
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const error = (status: number, code: string, message: string, headers = {}) =>
    json({ error: { code, message } }, status, headers)

  function publicKey(): HttpAnswer {
    const point = spkiOf(key).subarray(-64)
    return json({
      key: {
        kid: `${VAULT}/keys/relayer/${VERSION}`,
        kty: 'EC-HSM',
        crv: script.key === 'otherCurve' ? 'P-256' : 'P-256K',
        key_ops: ['sign', 'verify'],
        x: base64Url(point.subarray(0, 32)),
        y: base64Url(point.subarray(32)),
      },
      attributes: { enabled: script.key !== 'disabled' },
    })
  }

  function signature({ path, body }: HttpRequest): HttpAnswer {
    const { alg, value } = JSON.parse(body) as { alg: string; value: string }
    const { reply, isHigh } = script.next()
    if (reply === 'hangs') return reply
    if (alg !== 'ES256K' || !path.startsWith(`/keys/relayer/${VERSION}/sign`))
      return error(400, 'BadParameter', 'not as documented')
    switch (reply) {
      case 'throttles':
        return error(429, 'Throttled', 'Requests were throttled.', { 'retry-after': '0' })
      case 'fails':
        return error(503, 'ServiceUnavailable', 'unavailable')
      case 'refuses':
        return error(403, 'Forbidden', 'Operation is not allowed on a disabled key.')
      case 'drops':
        return reply
      default: {
        const digest = Uint8Array.from(Buffer.from(value, 'base64url'))
        const der = derOf(reply === 'signs' ? key : OTHER, digest, isHigh)
        const rs = secp256k1.Signature.fromDER(der).toCompactRawBytes()
        return json({ kid: `${VAULT}/keys/relayer/${VERSION}`, value: base64Url(rs) })
      }
    }
  }

  // Without a token the service names the place to get one.
  const challenge = {
    status: 401,
    headers: {
      'www-authenticate': `Bearer authorization="https://login.example/tenant", resource="https://vault.azure.net"`,
    },
  }
  const server = await startHttpService((request) => {
    if (request.headers.authorization === undefined) return challenge
    return request.method === 'GET' ? publicKey() : signature(request)
  })
  const inner = createDefaultHttpClient()
  // The SDK sends its token only over https, so the last hop is redirected to loopback.
  const httpClient: HttpClient = {
    async sendRequest(request) {
      const { url } = request
      request.url = url.replace(VAULT, server.url)
      request.allowInsecureConnection = true
      try {
        return await inner.sendRequest(request)
      } finally {
        request.url = url
      }
    },
  }
  const credential = {
    getToken: async () => ({ token: 'of a test', expiresOnTimestamp: Number.MAX_SAFE_INTEGER }),
  }
  const client = new KeyClient(VAULT, credential, { httpClient, retryOptions: { maxRetries: 0 } })
  return Object.assign(script, {
    account: (options = {}) => azureKeyVaultAccount({ client, keyName: 'relayer', ...options }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  })
}
