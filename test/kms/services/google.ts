import { createRequire } from 'node:module'
import { KeyManagementServiceClient } from '@google-cloud/kms'
import {
  credentials,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceClientConstructor,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { googleKmsAccount } from '../../../src/kms/index.js'
import { derOf, keyPair, spkiOf } from '../../../src/kms/kms.fixture.js'
import { createScript, type StartService } from './service.js'

const OTHER = `0x${'4d'.repeat(32)}` as const
const VERSION = 'projects/project/locations/europe-west3/keyRings/ring/cryptoKeys/relayer/cryptoKeyVersions/1'

type Call = ServerUnaryCall<{ name: string; digest?: { sha256?: Buffer } }, object>
type Callback = sendUnaryData<object>

/** google/cloud/kms/v1/service.proto, over gRPC, from the definition that the SDK ships. */
function definition(): ServiceClientConstructor['service'] {
  const path = createRequire(import.meta.url).resolve('@google-cloud/kms/build/protos/protos.json')
  const loaded = loadPackageDefinition(fromJSON(createRequire(import.meta.url)(path), { enums: String }))
  const { google } = loaded as unknown as {
    google: { cloud: { kms: { v1: { KeyManagementService: ServiceClientConstructor } } } }
  }
  return google.cloud.kms.v1.KeyManagementService.service
}

export const startGoogle: StartService = async (key) => {
  const script = createScript()
  const server = new Server()

  function pem(): string {
    const spki = Buffer.from(spkiOf(key)).toString('base64').replace(/.{64}/g, '$&\n')
    return `-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----\n`
  }

  function getPublicKey(_: Call, callback: Callback): void {
    if (script.key === 'disabled')
      return callback({ code: status.FAILED_PRECONDITION, details: `${VERSION} is not enabled.` })
    const isGood = script.key === 'good'
    const other = String(keyPair('prime256v1').publicKey.export({ format: 'pem', type: 'spki' }))
    const algorithm = isGood ? 'EC_SIGN_SECP256K1_SHA256' : 'EC_SIGN_P256_SHA256'
    callback(null, { name: VERSION, pem: isGood ? pem() : other, algorithm })
  }

  function asymmetricSign({ request }: Call, callback: Callback): void {
    const { reply, isHigh } = script.next()
    if (reply === 'hangs') return
    const digest = request.digest?.sha256
    if (digest?.length !== 32 || request.name !== VERSION)
      return callback({ code: status.INVALID_ARGUMENT, details: 'not as documented' })
    switch (reply) {
      case 'throttles':
        return callback({ code: status.RESOURCE_EXHAUSTED, details: 'Quota exceeded.' })
      case 'fails':
      case 'drops':
        return callback({ code: status.UNAVAILABLE, details: 'unavailable' })
      case 'refuses':
        return callback({ code: status.FAILED_PRECONDITION, details: `${VERSION} is not enabled.` })
      default: {
        const signature = derOf(reply === 'signs' ? key : OTHER, Uint8Array.from(digest), isHigh)
        return callback(null, {
          name: VERSION,
          signature: Buffer.from(signature),
          verifiedDigestCrc32c: false,
        })
      }
    }
  }

  server.addService(definition(), { GetPublicKey: getPublicKey, AsymmetricSign: asymmetricSign } as never)
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  const client = new KeyManagementServiceClient({
    apiEndpoint: '127.0.0.1',
    port,
    sslCreds: credentials.createInsecure(),
    // Without credentials it looks for a metadata server on the network.
    credentials: { client_email: 'relayer@project.example', private_key: 'of a test' },
  })
  return Object.assign(script, {
    account: (options = {}) => googleKmsAccount({ client, keyVersion: VERSION, ...options }),
    async [Symbol.asyncDispose]() {
      await client.close()
      server.forceShutdown()
    },
  })
}
