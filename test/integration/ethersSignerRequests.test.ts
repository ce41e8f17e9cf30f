import {
  isError,
  NonceManager,
  Transaction,
  type TransactionLike,
  type TransactionRequest,
  toUtf8Bytes,
  Wallet,
} from 'ethers'
import type { LocalAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fateOf, laneSigner } from '../../src/ethers/index.js'
import { createSender, memoryStore } from '../../src/index.js'
import { GWEI } from './devnetSupport.js'
import { type EthersWorld, method, rejection, startEthersWorld } from './ethersSupport.js'

let world: EthersWorld
beforeAll(async () => {
  world = await startEthersWorld()
})
afterAll(() => world?.end())

const TO = '0x00000000000000000000000000000000000000aa'
const ACCESS = [{ address: TO, storageKeys: [`0x${'00'.repeat(32)}`] }]

describe('a request', () => {
  const kinds: Record<string, { tx: TransactionRequest; type: number }> = {
    'without a type': { tx: {}, type: 2 },
    'of type 0': { tx: { type: 0 }, type: 0 },
    'of type 1': { tx: { type: 1, accessList: ACCESS, gasLimit: '60000' }, type: 1 },
    'of type 2': {
      tx: { type: 2, accessList: ACCESS, maxFeePerGas: `${9n * GWEI}`, maxPriorityFeePerGas: GWEI },
      type: 2,
    },
    'with a gas price': { tx: { gasPrice: 8n * GWEI, value: '0x05', data: '0x0102' }, type: 0 },
  }
  const named = Object.entries(kinds)

  test.each(named)('%s is sent, and the response equals the signed transaction', async (_, { tx, type }) => {
    const { signer } = world.open()
    const response = await signer.sendTransaction({ to: Promise.resolve(TO), from: signer.address, ...tx })
    expect(response).toMatchObject({ type, to: '0x00000000000000000000000000000000000000AA', nonce: 0 })
    // Serialised again with its signature, it has the hash of the bytes that were sent.
    const again = Transaction.from(response as unknown as TransactionLike)
    expect(again.hash).toBe(response.hash)
    expect(again.from).toBe(signer.address)
    for (const name of ['gasPrice', 'maxFeePerGas', 'gasLimit', 'value'] as const)
      if (tx[name] != null) expect(response[name]).toBe(BigInt(tx[name]))
    expect(await response.wait()).toMatchObject({ status: 1, type, to: response.to, from: signer.address })
  })

  test('that a lane does not support is refused before it is sent', async () => {
    const { sender, signer } = world.open()
    const refused = async (tx: TransactionRequest) => rejection(signer.sendTransaction({ to: TO, ...tx }))
    const invalid = (name: string) => ({
      code: 'INVALID',
      fate: 'notExecuted',
      message: expect.stringContaining(name) as string,
    })
    expect(await refused({ nonce: 0 })).toMatchObject(invalid('tx.nonce: expected no nonce'))
    expect(await refused({ nonce: 9 })).toMatchObject(invalid('got 9'))
    expect(await refused({ from: TO })).toMatchObject(invalid('tx.from'))
    expect(await refused({ chainId: 1 })).toMatchObject({ code: 'CHAIN_MISMATCH' })
    expect(await refused({ type: 3 })).toMatchObject({ code: 'UNSUPPORTED' })
    expect(await refused({ blobVersionedHashes: [`0x01${'00'.repeat(31)}`] })).toMatchObject({
      code: 'UNSUPPORTED',
    })
    expect(await refused({ type: 9 })).toMatchObject(invalid('request.type'))
    expect(await refused({ type: 4 })).toMatchObject(invalid('request.type'))
    expect(await refused({ customData: { txlane: { until: 'queued' } } })).toMatchObject(invalid('until'))
    expect(await refused({ customData: { txlane: { id: '' } } })).toMatchObject(invalid('options.id'))
    expect(await refused({ customData: { txlane: 1 } })).toMatchObject(invalid('customData.txlane'))
    expect(await rejection(signer.signTransaction())).toMatchObject({ code: 'UNSUPPORTED' })
    expect(await rejection(new NonceManager(signer).sendTransaction({ to: TO }))).toMatchObject(
      invalid('tx.nonce'),
    )
    expect((await sender.snapshot()).cursor).toBe(0)
    expect(await signer.sendTransaction({ to: TO, nonce: null, customData: { other: 1 } })).toMatchObject({
      nonce: 0,
    })
  })

  test('with the id of an earlier request is that earlier transaction', async () => {
    const { sender, signer } = world.open()
    const contract = await world.book(signer)
    const once = { customData: { txlane: { id: 'invoice-1' } } }
    const [one, two] = await Promise.all([
      method(contract, 'set').send(8, once),
      method(contract, 'set').send(8, once),
    ])
    expect(two.hash).toBe(one.hash)
    const withId = contract.connect(signer.with({ id: 'invoice-1' }))
    expect((await method(withId as typeof contract, 'set').send(8)).hash).toBe(one.hash)
    await one.wait()
    expect(await method(contract, 'times')(8)).toBe(1n)
    expect(await sender.get('invoice-1')).toMatchObject({ hash: one.hash })
    const other = await rejection(method(contract, 'set').send(9, once))
    expect(other).toMatchObject({ code: 'ID_CONFLICT' })
  })

  test('may be populated first and sent then', async () => {
    const { signer } = world.open()
    expect(await signer.getNonce()).toBe(0)
    const filled = await signer.populateTransaction({ to: TO, value: 1 })
    expect(filled).toMatchObject({ from: signer.address, gasLimit: 21_000n, chainId: 31337n, type: 2 })
    expect(filled).not.toHaveProperty('nonce')
    const refused = await rejection(signer.populateTransaction({ to: TO, nonce: 3 }))
    expect(refused).toMatchObject({ code: 'INVALID' })
    const sent = await signer.sendTransaction(filled)
    expect(sent).toMatchObject({ maxFeePerGas: filled.maxFeePerGas, gasLimit: 21_000n })
    expect(await signer.getNonce('pending')).toBe(1)
    await sent.wait()
    expect(await signer.getNonce('latest')).toBe(1)
  })
})

describe('a delegation', () => {
  test('signed by the account for an assumed nonce is signed again for the nonce that it gets', async () => {
    const { signer } = world.open()
    await signer.sendTransaction({ to: TO })
    const authorization = await signer.authorize({ address: TO, nonce: 77 })
    const sent = await signer.sendTransaction({
      type: 4,
      to: TO,
      authorizationList: [authorization],
    })
    expect(sent).toMatchObject({ type: 4, nonce: 1 })
    expect(sent.authorizationList).toMatchObject([{ nonce: 2n, chainId: 31337n }])
    await sent.wait()
    expect(await signer.provider!.getCode(signer.address)).toBe(`0xef0100${TO.slice(2)}`)
  })

  test('signed by another account is sent unchanged, while the nonce of that account is unchanged', async () => {
    const { signer } = world.open()
    const other = new Wallet(generatePrivateKey())
    const tuple = await other.authorize({ address: TO, nonce: 0, chainId: 31337 })
    const sent = await signer.sendTransaction({ to: TO, authorizationList: [tuple] })
    expect(sent.authorizationList?.[0]?.signature.r).toBe(tuple.signature.r)
    await sent.wait()
    expect(await signer.provider!.getCode(other.address)).toBe(`0xef0100${TO.slice(2)}`)
    const stale = await rejection(signer.sendTransaction({ to: TO, authorizationList: [tuple] }))
    expect(stale).toMatchObject({ code: 'SIGNER', fate: 'notExecuted' })
    const everywhere = await other.authorize({ address: TO, nonce: 1, chainId: 0 })
    const refused = await rejection(signer.sendTransaction({ to: TO, authorizationList: [everywhere] }))
    expect(refused).toMatchObject({ code: 'INVALID', fate: 'notExecuted' })
  })
})

describe('signatures apart from transactions', () => {
  const key = generatePrivateKey()
  const account = privateKeyToAccount(key)
  const wallet = new Wallet(key)

  const signerOf = (own: LocalAccount | undefined) => {
    const sender = createSender({ client: world.devnet.client(), account, store: memoryStore() })
    return laneSigner(sender, null, { account: own })
  }

  const domain = {
    name: 'Book',
    version: '1',
    chainId: 31337,
    verifyingContract: TO,
    salt: `0x${'ab'.repeat(32)}`,
  }
  const types = {
    Order: [
      { name: 'maker', type: 'Person' },
      { name: 'amounts', type: 'uint256[]' },
      { name: 'delta', type: 'int64' },
      { name: 'tag', type: 'bytes32' },
      { name: 'note', type: 'bytes' },
      { name: 'open', type: 'bool' },
    ],
    Person: [
      { name: 'wallet', type: 'address' },
      { name: 'name', type: 'string' },
    ],
  }
  const value = {
    maker: { wallet: TO, name: 'ß' },
    amounts: ['12345678901234567890', 2n, 3],
    delta: -5,
    tag: `0x${'cd'.repeat(32)}`,
    note: toUtf8Bytes('note'),
    open: true,
  }

  test('equal the signatures of an ethers Wallet', async () => {
    const signer = signerOf(account)
    expect(await signer.getAddress()).toBe(wallet.address)
    for (const message of ['hello', '0x1234', Uint8Array.of(0, 255)])
      expect(await signer.signMessage(message)).toBe(await wallet.signMessage(message))
    expect(await signer.signTypedData(domain, types, value)).toBe(
      await wallet.signTypedData(domain, types, value),
    )
    const asked = { address: TO, nonce: 5, chainId: 10n }
    const [own, expected] = [await signer.authorize(asked), await wallet.authorize(asked)]
    expect(own.signature.serialized).toBe(expected.signature.serialized)
    expect(own).toMatchObject({ address: expected.address, nonce: 5n, chainId: 10n })
  })

  test('need an account of the sender that can sign', async () => {
    const signer = signerOf(undefined)
    for (const attempt of [
      signer.signMessage('hello'),
      signer.signTypedData(domain, types, value),
      signer.authorize({ address: TO, nonce: 0, chainId: 1 }),
    ])
      expect(await rejection(attempt)).toMatchObject({ code: 'UNSUPPORTED', fate: 'notExecuted' })
    const another = privateKeyToAccount(generatePrivateKey())
    expect(() => signerOf(another)).toThrow('options.account')
    const broken = signerOf({ ...account, signMessage: () => Promise.reject(new Error('no HSM')) })
    expect(await rejection(broken.signMessage('hello'))).toMatchObject({ code: 'SIGNER' })
  })
})

test('have errors without a fate, because they concern no transaction', async () => {
  const { signer } = world.open()
  const contract = await world.book(signer)
  const wrong = await rejection(method(contract, 'set').send('word'))
  expect(isError(wrong, 'INVALID_ARGUMENT')).toBe(true)
  for (const error of [wrong, undefined, null, new Error('other')]) expect(fateOf(error)).toBeUndefined()
})
