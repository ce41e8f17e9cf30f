import type { SendOutcome, SendReason } from './outcome.js'

/** The words in lower case, "…" for anything (at the end: any tail), and the file they were read in. */
export type MessageRow = readonly [says: string, source: string]

/** The messages that mean the same. */
export type MessageGroup = {
  readonly outcome: SendOutcome['outcome']
  readonly reason: SendReason
  readonly counted?: true
  readonly rows: readonly MessageRow[]
}

// Each source is a repository on GitHub and a path in it. Many clients use geth's words on purpose: op-geth, Nitro,
// reth, op-reth, Base, Avalanche, Polygon zkEVM and the current Nethermind; a row names the file it was read in.
const GETH = 'ethereum/go-ethereum core/error.go'
const GETH_POOL = 'ethereum/go-ethereum core/txpool/errors.go'
const GETH_CHECKS = 'ethereum/go-ethereum core/txpool/validation.go'
const GETH_OLD = 'wevm/viem src/errors/node.ts (words of older geth)'
// Read in a fork, which takes the words of newer geth over: the repository copy of geth read was older.
const GETH_FORK =
  'evmcore/error.go of the Fantom and Sonic line (a fork of ethereum/go-ethereum core/error.go)'
const GETH_RPC = 'ethereum/go-ethereum internal/ethapi/api.go, read in forks of it'
const GETH_LEGACY = 'ethereum/go-ethereum core/txpool/legacypool/legacypool.go, read in forks of it'
const CORETH = 'ava-labs/coreth core/txpool/txpool.go'
const RETH = 'paradigmxyz/reth crates/rpc/rpc-eth-types/src/error/mod.rs'
const RETH_POOL = 'paradigmxyz/reth crates/transaction-pool/src/error.rs'
const NETHERMIND = 'NethermindEth/nethermind, the class Nethermind.TxPool.TxPoolErrorMessages'
const NETHERMIND_TX = 'NethermindEth/nethermind src/Nethermind/Nethermind.Core/Messages/TxErrorMessages.cs'
const NETHERMIND_OLD = 'NethermindEth/nethermind src/Nethermind/Nethermind.TxPool/AcceptTxResult.cs (to 2025)'
const BESU =
  'hyperledger/besu ethereum/api/src/main/java/org/hyperledger/besu/ethereum/api/jsonrpc/internal/response/RpcErrorType.java'
const ERIGON = 'erigontech/erigon txnprovider/txpool/txpoolcfg/txpoolcfg.go'
const NITRO = 'OffchainLabs/nitro execution/gethexec/sequencer.go'
const ZKSYNC = 'matter-labs/zksync-era core/node/api_server/src/tx_sender/result.rs'
const ZKSYNC_TX = 'matter-labs/zksync-era core/lib/types/src/l2/error.rs'
const ANVIL = 'foundry-rs/foundry crates/anvil/src/eth/error.rs'
const EDR = 'NomicFoundation/edr crates/edr_provider/src/error.rs'
const EDR_POOL = 'NomicFoundation/edr, the enum MemPoolAddTransactionError'
const PARITY = 'openethereum/openethereum rpc/src/v1/helpers/errors.rs'
const ZKEVM = '0xPolygonHermez/zkevm-node pool/errors.go'
const COSMOS = 'cosmos/evm mempool/errors.go'
const LINEA =
  'Consensys/linea-monorepo besu-plugins/linea-sequencer/sequencer/src/main/java/net/consensys/linea/sequencer/txpoolvalidation/validators'
const BASE_INGRESS = 'base/tips crates/ingress-rpc/src/validation.rs, with the words of reth'
const EIP_7966 = 'ethereum/EIPs EIPS/eip-7966.md'
// What was seen in production, by chain: Arbitrum Classic, Avalanche, Celo, Harmony, Hedera, Kaia, Metis, Monad,
// Optimism before Bedrock, Sei, Substrate with Frontier, Polygon zkEVM.
const SEEN = 'smartcontractkit/chainlink core/chains/evm/client/errors_test.go'
const SEEN_NOW = 'smartcontractkit/chainlink-evm pkg/client/errors.go'

/**
 * The table of messages. Read from top to bottom, and within a group too: what is specific stands before what is
 * generic. A message that is not here is *unknown*. To extend it, add a row with its source.
 */
export const MESSAGES: readonly MessageGroup[] = [
  {
    outcome: 'accepted',
    reason: 'syncTimeout',
    rows: [
      ["the transaction was added to the transaction pool but wasn't processed in …", GETH_RPC],
      ["the transaction was added to the mempool but wasn't processed in …", EIP_7966],
      ["transaction … was added to the mempool but wasn't confirmed within …", RETH],
    ],
  },
  {
    outcome: 'accepted',
    reason: 'alreadyKnown',
    rows: [
      ['already known', GETH_POOL],
      ['already imported', RETH_POOL], // anvil too, after "Tx: [0x…] "
      ['transaction already imported', 'anvil 1.7.1, asked'],
      ['transaction with the same hash was already imported', PARITY],
      ['known transaction', BESU],
      ['known transaction. transaction with hash … is already in the system', ZKSYNC_TX],
      ['alreadyknown', NETHERMIND_OLD],
      ['existing txn with same hash', ERIGON],
      ['pool(alreadyimported)', SEEN],
      ['tx already exists in cache', SEEN],
      // Harmony: this very transaction is on the chain.
      ['transaction already finalized', SEEN],
    ],
  },
  {
    outcome: 'refused',
    reason: 'delegatedLimit',
    rows: [
      ['in-flight transaction limit reached for delegated accounts', GETH_FORK],
      // Alchemy goes on with "is temporarily not allowed".
      ['gapped-nonce tx from delegated accounts…', GETH_LEGACY],
      ['authority already reserved', GETH_POOL],
      ['eip-7702 transaction with authority already reserved', ERIGON],
      ['delegation nonce gap', NETHERMIND],
      ['delegation authority has pending transaction', NETHERMIND],
      ['notcurrentnoncefordelegation', NETHERMIND_OLD],
      ['delegatorhaspendingtx', NETHERMIND_OLD],
    ],
  },
  {
    outcome: 'refused',
    reason: 'replacementUnderpriced',
    rows: [
      ['replacement transaction underpriced', GETH_POOL],
      ['insufficient gas price to replace existing transaction', RETH_POOL], // anvil too
      ['replacementnotallowed', NETHERMIND_OLD],
      ['ownnoncealreadyused', NETHERMIND_OLD],
      ['could not replace existing tx', ERIGON],
      ['transaction gas price … is too low. there is another transaction with same nonce…', PARITY],
      ['there is another tx which has the same nonce in the tx pool', SEEN],
    ],
  },
  {
    outcome: 'refused',
    reason: 'nonceTooLow',
    rows: [
      ['nonce too low', GETH],
      ['transaction nonce too low', EDR_POOL],
      ['transaction nonce is too low', PARITY],
      ['oldnonce', NETHERMIND_OLD],
      ['tx nonce is lower than account nonce', COSMOS],
      ['pool(stale)', SEEN],
      // Arbitrum Classic says it of low and of high ones; looking for evidence does no harm.
      ['invalid transaction nonce', SEEN],
    ],
  },
  {
    outcome: 'refused',
    reason: 'nonceTooHigh',
    rows: [
      ['nonce too high', GETH],
      ['noncegap', NETHERMIND_OLD],
      ['noncetoofarinfuture', NETHERMIND_OLD],
      ['nonce too far in future', NETHERMIND],
      ['transaction nonce is too distant from current sender nonce', BESU],
      ['an invalid transaction with a lower nonce exists', BESU],
      ['tx nonce is higher than account nonce', COSMOS],
    ],
  },
  {
    // Depends on the state of this node or its fork, unlike the group of malformed ones below.
    outcome: 'refused',
    reason: 'invalid',
    counted: true,
    rows: [
      // An address without an account may become one.
      ["invalid sender. can't start a transaction from a non-account", ZKSYNC],
      ['sender not an eoa', GETH],
      ['sender is not an eoa', RETH],
      ['senderiscontract', NETHERMIND_OLD],
      ['authority nonce too low', GETH_POOL],
      ['eip-7702 authorization list has invalid fields', BASE_INGRESS],
      ['eip-7702 authorization list not supported', RETH],
      ['eip-7702 authorization lists are not supported before …', ANVIL],
      ['transaction type not supported', RETH],
      ['transaction type … not supported', ZKSYNC_TX],
      ['transaction type not valid', GETH_OLD],
      ['transaction type not valid in this context', GETH_OLD],
      ['unsupported transaction type', NETHERMIND],
      ['invalidtxtype…', NETHERMIND_TX],
      ['invalid transaction type', BESU],
      ['fork supporting this transaction type is not activated yet', ERIGON],
      ['only replay-protected (eip-155) transactions allowed over rpc', GETH_RPC],
      ['chainid not supported', BESU],
      ['chainid is required', BESU],
      ['failed to decode signed transaction', RETH],
      ['failed to decode transaction', ANVIL],
      ['too many factory dependencies in the transaction…', ZKSYNC],
    ],
  },
  {
    outcome: 'intrinsic',
    reason: 'gasLimit',
    rows: [
      // Nitro says it also where the L1 part of the gas is short, which moves with the L1 price; its words do not
      // tell (OffchainLabs/nitro execution/gethexec/tx_pre_checker.go). It refuses before it forwards the bytes.
      ['intrinsic gas too low', GETH],
      ['insufficient gas for floor data gas cost', GETH_FORK],
      ['intrinsic gas exceeds gas limit', BESU],
      ['intrinsicgas', ERIGON],
      ['transaction gas is too low. there is not enough gas to cover minimal cost…', PARITY],
      ["transaction gas limit provided '…' is insufficient of intrinsic gas required…", SEEN_NOW],
      ['gas limit too low', SEEN_NOW],
      ['gas uint64 overflow', GETH],
      ['gasuintoverflow', ERIGON],
    ],
  },
  {
    outcome: 'refused',
    reason: 'gasLimit',
    counted: true,
    rows: [
      ['exceeds block gas limit', GETH_POOL],
      // EIP-7825: the cap of a transaction.
      ['transaction gas limit too high', GETH_FORK],
      ['exceeds max transaction gas limit', RETH],
      ['gas limit too high', RETH],
      ['intrinsic gas too high', RETH],
      ["transaction's gas limit … exceeds block's gas limit…", RETH_POOL],
      ['gas limit reached', NETHERMIND],
      ['gaslimitexceeded', NETHERMIND_OLD],
      ['txgaslimitcapexceeded', NETHERMIND_TX],
      ['transaction gas limit exceeds block gas limit', BESU],
      ['gas limit is too high', ERIGON],
      ['transaction gas limit is greater than the block gas limit', ANVIL],
      ['transaction gas limit is … and exceeds block gas limit of…', EDR_POOL],
      ["transaction gas limit '…' exceeds block gas limit…", SEEN_NOW],
      ['transaction cost exceeds current gas limit', PARITY],
      ['supplied gas is beyond limit', PARITY],
      ['gas limit of transaction is greater than the allowed max of…', `${LINEA}/GasLimitValidator.java`],
      // Polygon zkEVM: too much to prove in one batch.
      ['not enough … counters to continue the execution', SEEN],
      ['out of counters at node level', SEEN],
    ],
  },
  {
    outcome: 'intrinsic',
    reason: 'invalid',
    rows: [
      ['invalid sender', GETH_POOL],
      ['invalid transaction signature', RETH],
      ['invalid transaction v, r, s values', 'ethereum/go-ethereum core/types/transaction.go'],
      ['invalid signature', BESU],
      ['invalidtxsignature', NETHERMIND_TX],
      ['failed to recover sender', NETHERMIND],
      ['failedtoresolvesender', NETHERMIND_OLD],
      ['invalid chain id for signer', ANVIL],
      ['invalid chain id', RETH],
      ['invalidtxchainid', NETHERMIND_TX],
      ['wrong chainid', BESU],
      ['invalid chainid … provided, expected…', EDR],
      ['incompatible eip-155 transaction, signed for another chain', ANVIL],
      ['trying to send an incompatible eip-155 transaction, signed for another chain', EDR],
      ['oversized data', GETH_POOL],
      ['input data too large', RETH_POOL],
      ['max initcode size exceeded', GETH],
      ["transaction's size … exceeds max_init_code_size…", RETH_POOL],
      ['initcode too large', ERIGON],
      ['rlptoolong', ERIGON],
      ['transaction too large', NETHERMIND],
      ['transaction is too big, see chain specification for the limit', PARITY],
      ['tx too large. max size is …', SEEN],
      ['calldata of transaction is greater than the allowed max of…', `${LINEA}/CalldataValidator.java`],
      ['negative value', GETH_POOL],
      ['nonce has max value', GETH],
      ['max priority fee per gas higher than max fee per gas', GETH],
      ['max priority fee per gas exceeds max fee per gas', BESU],
      ['tip higher than fee cap', GETH_OLD],
      ['invalidmaxpriorityfeepergas', NETHERMIND_TX],
      ['max priority fee per gas higher than 2^256-1', GETH],
      ['max fee per gas higher than 2^256-1', GETH],
      ['fee cap higher than 2^256-1', GETH_OLD],
      ['int256overflow', NETHERMIND_OLD],
      ['transaction cost overflow', NETHERMIND],
      ['set code tx must have at least one authorization tuple', GETH_CHECKS],
      ['no items in authorization list for eip7702 transaction', RETH_POOL],
      ['eip-7702 transactions with an empty authorization list are invalid', ERIGON],
      ['invalid eip-7702 transaction: authorization list is empty', EDR],
    ],
  },
  {
    outcome: 'refused',
    reason: 'feeCapExceeded',
    counted: true,
    rows: [
      ['tx fee (…) exceeds the configured cap', SEEN],
      ['transaction fee cap exceeded', BESU],
      ['fee too high: …, use less than …', SEEN_NOW],
    ],
  },
  {
    outcome: 'refused',
    reason: 'feeTooLow',
    rows: [
      ['transaction underpriced', GETH_POOL],
      ['transaction gas price below minimum', GETH_CHECKS],
      ['max fee per gas less than block base fee', GETH],
      ['max fee per blob gas less than block blob gas fee', GETH],
      ['fee cap less than block base fee', GETH_OLD],
      ['transaction is outdated', GETH_OLD],
      ['transaction feecap … below chain minimum', RETH_POOL],
      ['transaction priority fee below minimum required priority fee…', RETH],
      ['feetoolow', NETHERMIND_OLD],
      ['feetoolowtocompete', NETHERMIND_OLD],
      ['gas price below configured minimum gas price', BESU],
      ['gas price below current base fee', BESU],
      ['underpriced', ERIGON],
      ['fee too low', ERIGON],
      ['transaction gasprice (…) is too low for the next block…', EDR],
      ['transaction maxfeepergas (…) is too low for the next block…', EDR],
      ['transaction gas price is …, which is below the minimum of…', EDR],
      ["transaction gas price is too low. it does not satisfy your node's minimal gas price…", PARITY],
      ['gas price too low', ZKEVM],
      ['gasprice is less than gas price minimum floor…', SEEN_NOW],
      ['gas price less than block base fee', SEEN],
      ["gas price '…' is below configured minimum gas price…", SEEN],
    ],
  },
  {
    outcome: 'refused',
    reason: 'insufficientFunds',
    rows: [
      ['insufficient funds for gas * price + value + gatewayfee', SEEN],
      ['insufficient funds for gas * price + value', GETH],
      ['insufficient funds for gas + value', ZKSYNC],
      ['insufficient funds for transfer', GETH],
      ['insufficient balance for transfer', SEEN],
      ['insufficient balance for transaction', SEEN],
      ['insufficient funds', ERIGON],
      ['insufficientfunds', NETHERMIND_OLD],
      ['exceeds transaction sender account balance', GETH_OLD],
      ['transaction would cause overdraft', CORETH],
      ['transaction overdraws from account', RETH_POOL],
      ['upfront cost exceeds account balance', BESU],
      ["sender doesn't have enough funds to send tx", EDR_POOL],
      ['not enough balance to cover the fee', ZKSYNC],
      ['not enough funds for gas', SEEN],
      ['signer had insufficient balance', SEEN_NOW],
    ],
  },
  {
    outcome: 'refused',
    reason: 'poolFull',
    rows: [
      ['txpool is full', RETH],
      ['account limit exceeded', GETH_POOL],
      ['address already reserved', GETH_POOL],
      ['future transaction tries to replace pending', GETH_POOL],
      ['rejected due to … being identified as a spammer', RETH_POOL],
      ['spammer', ERIGON],
      ['transaction discarded outright due to pool size constraints', RETH_POOL],
      ['transaction type … conflicts with existing transaction for…', RETH_POOL],
      ['pending transaction type conflict', NETHERMIND],
      ['pendingtxsofothertype', NETHERMIND_OLD],
      ['pending sub-pool is full', ERIGON],
      ['basefee sub-pool is full', ERIGON],
      ['queued sub-pool is full', ERIGON],
      ['there are too many transactions in the queue', PARITY],
      ['account has reached the tx limit in the txpool', ZKEVM],
      ['queue full', COSMOS],
      ['sequencer pending tx pool full, please try again', SEEN],
    ],
  },
  {
    outcome: 'refused',
    reason: 'notReady',
    rows: [
      ['sequencer temporarily not available', NITRO],
      ['currently not accepting transactions due to …', NITRO],
      ['node is syncing', NETHERMIND],
      ['initial sync is still in progress', BESU],
      ['transaction pool not enabled', BESU],
      ['server shutting down', ZKSYNC],
      ['insertion of another transaction with the same nonce is in progress', ZKSYNC],
    ],
  },
  {
    outcome: 'refused',
    reason: 'screened',
    counted: true,
    rows: [
      ['sender account not authorized to send transactions', BESU],
      ['plugin has marked the transaction as invalid', BESU],
      ['sender … is blocked as appearing on the sdn…', `${LINEA}/DeniedAddressValidator.java`],
      ['recipient … is blocked as appearing on the sdn…', `${LINEA}/DeniedAddressValidator.java`],
      ['authorization … is blocked as appearing on the sdn…', `${LINEA}/DeniedAddressValidator.java`],
      ['sender is banned in local queue', PARITY],
      ['recipient is banned in local queue', PARITY],
      ['code is banned in local queue', PARITY],
      ['transaction is not permitted', PARITY],
      ['transaction sender is not on the whitelist', NITRO],
      ['contract deployer address … is not in the allow list', ZKSYNC],
      ['blocked sender', ZKEVM],
      ['forbidden sender address', SEEN],
      // The backtick before the word falls away with the quotes that a message may begin with.
      ['from` address of transaction in blacklist', SEEN],
      ['to` address of transaction in blacklist', SEEN],
    ],
  },
  {
    // Generic, hence last: what follows it in the message is looked for above.
    outcome: 'refused',
    reason: 'invalid',
    counted: true,
    rows: [
      ['transaction invalid', NETHERMIND],
      ['invalid, transaction hash is null', SEEN],
    ],
  },
]
