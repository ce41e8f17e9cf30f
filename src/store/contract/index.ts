export { type StoreContractCase, type StoreContractOptions, storeContract } from './storeContract.js'
