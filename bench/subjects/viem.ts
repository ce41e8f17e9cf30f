import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sendRawTransactionSync } from 'viem/actions'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { givenTransfer, transfer } from '../support/node.js'
import { type Driver, type Subject, sendEach, sendInParts, type World } from './types.js'

// A burst of thousands takes longer than viem's default of 10 s, and a retried request would count twice.
const HTTP = { timeout: 180_000, retryCount: 0 }
const BATCH = { batchSize: 100, wait: 0 }

function clientOf({ url, chain, privateKey }: World, options: object = {}) {
  // One manager per account: viem's default manager is shared by the process, but behaves the same.
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const account = privateKeyToAccount(privateKey, { nonceManager })
  return createWalletClient({ account, chain, transport: http(url, { ...HTTP, ...options }) })
}

const closed = async () => undefined

/** `sendTransaction` with the nonce manager, as in its documentation. */
export const viemDefault: Subject = {
  name: 'viem',
  given: 'nothing',
  open(world): Driver {
    const client = clientOf(world)
    return {
      burst: (count) => sendEach(count, (number) => client.sendTransaction(transfer(number))),
      close: closed,
    }
  },
}

const givenOn = (chainId: number) => (number: number) =>
  ({ ...givenTransfer(number), type: 'eip1559', chainId }) as const

export const viemGiven: Subject = {
  name: 'viem',
  given: 'gasAndFees',
  open(world): Driver {
    const client = clientOf(world)
    const given = givenOn(world.chain.id)
    return {
      burst: (count) => sendEach(count, (number) => client.sendTransaction(given(number))),
      close: closed,
    }
  },
}

export const viemBatched: Subject = {
  name: 'viem, HTTP batching',
  given: 'gasAndFees',
  open(world): Driver {
    const client = clientOf(world, { batch: BATCH })
    const given = givenOn(world.chain.id)
    return {
      // All at once: viem batches calls that are made at the same time.
      burst: (count) => sendEach(count, (number) => client.sendTransaction(given(number)), count),
      burstInParts: (count) => sendInParts(count, (number) => client.sendTransaction(given(number))),
      close: closed,
    }
  },
}

/**
 * Signs and sends by hand with the sync call, which returns the receipt, as bots do on chains that support
 * it.
 */
export const viemSync: Subject = {
  name: 'viem, sendRawTransactionSync',
  given: 'gasAndFees',
  open(world): Driver {
    const client = clientOf(world)
    const given = givenOn(world.chain.id)
    return {
      burst: (count) =>
        sendEach(count, async (number) => {
          const content = { ...given(number), nonce: number - 1 }
          const serializedTransaction = await client.account.signTransaction(content)
          await sendRawTransactionSync(client, { serializedTransaction })
        }),
      close: closed,
    }
  },
}
