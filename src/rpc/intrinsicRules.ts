import type { MessageGroup } from './messages.js'

/**
 * Rules that depend on the bytes alone, on every fork that knows their transaction type. No client may ever
 * include a transaction that breaks one, so its nonce is free again. Each row names a consensus rule:
 *
 * - The signature recovers no key, or its s is in the upper half of the curve (EIP-2, since Homestead).
 * - The nonce is 2^64 - 1 or above (EIP-2681, in force for every block since genesis).
 * - The tip is above the fee cap (EIP-1559: a condition of type 2 itself, and of the later types).
 * - A value or a fee is negative or above 2^256 - 1, or value + gas * fee is: RLP and the balance, which is a
 *   256-bit number, have no room for them (yellow paper, appendix B and section 6.2).
 * - A blob transaction names no blob, or creates a contract (EIP-4844: conditions of type 3 itself).
 * - A delegating transaction names no authorization, or creates a contract (EIP-7702: conditions of type 4
 *   itself).
 *
 * A refusal that depends on the fork (gas, sizes, the number of blobs, supported types), on the node's chain
 * (a bare "invalid sender"), or on the policy of a pool, is a counted refusal: the nonce stays bound.
 */
export const INTRINSIC: MessageGroup = {
  outcome: 'intrinsic',
  reason: 'invalid',
  rows: [
    'invalid transaction signature',
    'invalid transaction v, r, s values',
    'invalid signature',

    'nonce has max value',
    'nonce exceeds u64 limit',
    'noncetoohigh: nonce exceeds max nonce',

    'max priority fee per gas higher than max fee per gas',
    'max priority fee per gas exceeds max fee per gas',
    'maxpriorityfeepergas (…) is bigger than maxfeepergas (…)',
    'tip higher than fee cap',
    'invalidmaxpriorityfeepergas',

    'negative value',
    'max priority fee per gas higher than 2^256-1',
    'max fee per gas higher than 2^256-1',
    'fee cap higher than 2^256-1',
    'int256overflow',
    'transaction cost overflow',

    'blobless blob transaction',
    'blob transaction missing blob hashes',
    'blob transaction of type create',
    'blob transactions must have at least one blob',

    'set code tx must have at least one authorization tuple',
    'eip-7702 transaction with empty auth list',
    'eip-7702 transaction cannot be used to create contract',
    'missingauthorizationlist',
    'notallowedcreatetransaction',
    'no items in authorization list for eip7702 transaction',
    'eip-7702 transactions with an empty authorization list are invalid',
    'eip-4844 & 7702 transactions cannot have the form of a create transaction',
    'invalid eip-7702 transaction: authorization list is empty',
    'invalid eip-7702 transaction: to (receiver) parameter is missing',
  ],
}

/**
 * The gas limit is below the cost of the transaction before it runs. The schedule changes with forks:
 * EIP-2028 (Istanbul) lowered the price of data, EIP-3860 (Shanghai) added that of init code, EIP-7623
 * (Prague) the floor, and EIP-2780 proposes a lower base. Nitro uses the same message if the L1 part of the
 * gas is too low, which depends on the L1 price; the message does not distinguish the two (OffchainLabs/nitro
 * execution/gethexec/tx_pre_checker.go).
 */
export const GAS_TOO_LOW: MessageGroup = {
  outcome: 'refused',
  reason: 'gasLimit',
  counted: true,
  rows: [
    'intrinsic gas too low',
    'insufficient gas for floor data gas cost',
    'intrinsic gas exceeds gas limit',
    'intrinsicgas',
    'transaction gas is too low. there is not enough gas to cover minimal cost…',
    "transaction gas limit provided '…' is insufficient of intrinsic gas required…",
    'transaction requires at least … gas but got …',
    'transaction requires gas floor of … but got limit of …',
    'gas limit too low',
    'gas uint64 overflow',
    'gasuintoverflow',
  ],
}

/**
 * Size limits. The limit for a whole transaction is a pool policy: Hardhat and Ganache mine transactions that
 * geth calls oversized. The limit for init code is a consensus rule since Shanghai (EIP-3860), raised by
 * later forks (EIP-7907) and by node options. The limits of 2^64 - 1 belong to zkSync Era's fee model.
 */
export const TOO_LARGE: MessageGroup = {
  outcome: 'refused',
  reason: 'invalid',
  counted: true,
  rows: [
    'oversized data',
    'input data too large',
    'transaction too large',
    'maxtxsizeexceeded',
    'rlptoolong',
    'transaction is too big, see chain specification for the limit',
    'tx too large. max size is …',
    'calldata of transaction is greater than the allowed max of…',
    'tx is too large (… bytes) and exceeds the max data size of …',

    'max initcode size exceeded',
    "transaction's size … exceeds max_init_code_size…",
    "transaction's input size … exceeds max_init_code_size…",
    'initcode too large',
    'trying to send a deployment transaction whose init code length is …',
    "transaction's `data`/`input` field is greater than … bytes, which isn't allowed as of eip-3860…",

    'max priority fee per gas higher than 2^64-1',
    'max fee per gas higher than 2^64-1',
    'max fee per pubdata byte higher than 2^64-1',
  ],
}
