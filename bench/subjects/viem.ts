import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sendRawTransactionSync } from 'viem/actions'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { givenTransfer, transfer } from '../support/node.js'
import { type Driver, type Subject, sendEach, sendInParts, type World } from './types.js'

// A burst of thousands takes longer than viem's 10 s; a request that is repeated would count twice.
const HTTP = { timeout: 180_000, retryCount: 0 }
const BATCH = { batchSize: 100, wait: 0 }

function clientOf({ url, chain, privateKey }: World, options: object = {}) {
  // One for each account: viem's own is for the whole process, and the same thing.
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const account = privateKeyToAccount(privateKey, { nonceManager })
  return createWalletClient({ account, chain, transport: http(url, { ...HTTP, ...options }) })
}

const closed = async () => undefined

/** `sendTransaction` with the nonce manager, as its documentation shows it. */
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
      // All at once: batches are made of what is asked for at the same time.
      burst: (count) => sendEach(count, (number) => client.sendTransaction(given(number)), count),
      burstInParts: (count) => sendInParts(count, (number) => client.sendTransaction(given(number))),
      close: closed,
    }
  },
}

/** Signs and posts by hand, as bots do on chains that have the call: it answers with the receipt. */
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
