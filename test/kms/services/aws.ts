import { KMS } from '@aws-sdk/client-kms'
import { awsKmsAccount } from '../../../src/kms/index.js'
import { derOf, keyPair, spkiOf } from '../../../src/kms/kms.fixture.js'
import { createScript, type HttpAnswer, type StartService, startHttpService } from './service.js'

const ARN = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'
const OTHER = `0x${'4d'.repeat(32)}` as const

/** AWS KMS API reference: JSON 1.1, errors identified by their `__type`. */
export const startAws: StartService = async (key) => {
  const script = createScript()
  const json = (body: object, status = 200): HttpAnswer => ({
    status,
    headers: { 'content-type': 'application/x-amz-json-1.1' },
    body: JSON.stringify(body),
  })
  const error = (type: string, message: string, status = 400) => json({ __type: type, message }, status)

  function publicKey(): HttpAnswer {
    if (script.key === 'disabled') return error('DisabledException', `${ARN} is disabled.`)
    const isGood = script.key === 'good'
    const other = keyPair('prime256v1').publicKey.export({ format: 'der', type: 'spki' })
    return json({
      KeyId: ARN,
      KeySpec: isGood ? 'ECC_SECG_P256K1' : 'ECC_NIST_P256',
      KeyUsage: 'SIGN_VERIFY',
      PublicKey: Buffer.from(isGood ? spkiOf(key) : other).toString('base64'),
    })
  }

  function signature(body: string): HttpAnswer {
    const { Message, MessageType, SigningAlgorithm } = JSON.parse(body) as Record<string, string>
    const { reply, isHigh } = script.next()
    if (reply === 'hangs') return reply
    if (MessageType !== 'DIGEST' || SigningAlgorithm !== 'ECDSA_SHA_256')
      return error('ValidationException', 'not as documented')
    switch (reply) {
      case 'throttles':
        return error('ThrottlingException', 'You have exceeded the rate at which you may call KMS.')
      case 'fails':
        return error('KMSInternalException', 'internal', 500)
      case 'refuses':
        return error('KMSInvalidStateException', `${ARN} is pending deletion.`)
      case 'drops':
        return reply
      default: {
        const digest = Uint8Array.from(Buffer.from(Message ?? '', 'base64'))
        const der = derOf(reply === 'signs' ? key : OTHER, digest, isHigh)
        return json({ KeyId: ARN, SigningAlgorithm, Signature: Buffer.from(der).toString('base64') })
      }
    }
  }

  const server = await startHttpService(({ headers, body }) =>
    headers['x-amz-target'] === 'TrentService.GetPublicKey' ? publicKey() : signature(body),
  )
  const client = new KMS({
    region: 'eu-central-1',
    endpoint: server.url,
    credentials: { accessKeyId: 'id', secretAccessKey: 'of a test' },
    maxAttempts: 1,
  })
  return Object.assign(script, {
    account: (options = {}) => awsKmsAccount({ client, keyId: 'alias/relayer', ...options }),
    async [Symbol.asyncDispose]() {
      client.destroy()
      await server[Symbol.asyncDispose]()
    },
  })
}
