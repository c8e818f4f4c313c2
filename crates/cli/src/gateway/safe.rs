//! Methods of well-known protocols that change nothing.

/// Of Ethereum nodes. Filters are left out, because reading one empties it.
pub(super) const ETHEREUM: &[&str] = &[
    "eth_accounts",
    "eth_blobBaseFee",
    "eth_blockNumber",
    "eth_call",
    "eth_chainId",
    "eth_createAccessList",
    "eth_estimateGas",
    "eth_feeHistory",
    "eth_gasPrice",
    "eth_getBalance",
    "eth_getBlock*",
    "eth_getCode",
    "eth_getLogs",
    "eth_getProof",
    "eth_getStorageAt",
    "eth_getTransaction*",
    "eth_getUncle*",
    "eth_maxPriorityFeePerGas",
    "eth_syncing",
    "net_*",
    "web3_*",
];

#[cfg(test)]
mod tests {
    use switchboard::access::Pattern;

    use super::*;

    #[test]
    fn what_changes_something_is_not_safe() {
        let patterns: Vec<Pattern> = ETHEREUM.iter().map(|text| text.parse().expect(text)).collect();
        let is_safe = |method: &str| patterns.iter().any(|pattern| pattern.matches(method));
        for method in ["eth_call", "eth_getBlockByNumber", "eth_getTransactionReceipt", "net_version"] {
            assert!(is_safe(method), "{method}");
        }
        for method in ["eth_sendRawTransaction", "eth_getFilterChanges", "eth_sign", "eth_subscribe"] {
            assert!(!is_safe(method), "{method}");
        }
    }
}
