/** Named by each error and written into each recording. A test compares it with the package's own. */
export const PACKAGE_VERSION = '0.1.0'
