import { keccak256, type LocalAccount } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createNonceAllocator, createSender, memoryStore } from '../../src/index.js'
import { type Devnet, startDevnet } from '../../tools/devnet/index.js'
import { sign } from './devnetSupport.js'

let devnet: Devnet
let next = 0

beforeAll(async () => {
  devnet = await startDevnet({ blockTimeMs: 400, flashblockMs: 200 })
})
afterAll(() => devnet.stop())

test.each([
  ['has the bytes already', { fate: 'inFlight' }, 'stored'],
  ['has not received them', { fate: 'notExecuted' }, 'asked'],
])(
  'a commit that is interrupted by a close while the store %s rejects with that fate',
  async (_, expected, when) => {
    const account = devnet.accounts[next++] as LocalAccount
    const store = memoryStore()
    let gate = Promise.resolve()
    let open = () => {}
    const allocator = createNonceAllocator({
      client: devnet.client(),
      address: account.address,
      lossDepth: 'child',
      // The answer to a write is delayed.
      store: { ...store, write: (...given) => store.write(...given).then((done) => gate.then(() => done)) },
      limits: { closeTimeoutMs: 100 },
    })
    const [first, second] = await allocator.reserveMany(2)
    gate = new Promise((resolve) => {
      open = resolve
    })
    if (when === 'asked') {
      // While this write is pending no other begins.
      second?.release().catch(() => undefined)
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    const serializedTransaction = await sign(devnet, account, 0)
    const committing = expect(first?.commit({ serializedTransaction })).rejects.toMatchObject({
      code: 'CLOSED',
      ...expected,
    })
    await new Promise<void>((resolve) => setImmediate(resolve))
    const closing = allocator.close()
    await committing
    open()
    await closing
    const sender = createSender({ client: devnet.client(), account, lossDepth: 'child', store })
    const found = await sender.get({ hash: keccak256(serializedTransaction) })
    await sender.close()
    expect(found !== undefined).toBe(when === 'stored')
  },
)
