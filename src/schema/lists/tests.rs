//! Pure. Tests of the table of lists, row by row.

use super::{ListForm, ListKeys, ListRule, ROWS, merge_rule};

fn check(kind: &str, path: &str, expected: &str) {
    let group = super::super::kinds().iter().find(|it| it.kind == kind).map_or("", |it| it.group);
    let path: Vec<&str> = path.split(' ').collect();
    assert_eq!(merge_rule(group, kind, &path), ListRule::parse(expected), "{kind} {path:?}");
}

#[test]
fn every_line_of_the_table_is_a_rule() {
    let lines = include_str!("../lists.table").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    assert_eq!(ROWS.len(), lines.count());
}

/// Checks lists of one kind: `path = rule`.
fn check_all(kind: &str, cases: &[&str]) {
    for case in cases {
        let (path, rule) = case.split_once(" = ").unwrap();
        check(kind, path, rule);
    }
}

#[test]
fn lists_of_every_object_have_their_keys() {
    check_all("Widget", &["metadata ownerReferences = uid", "metadata finalizers = seq", "status conditions = type"]);
}

#[test]
fn lists_of_pods_have_their_keys() {
    let pod = [
        "containers = name",
        "initContainers = name ordered",
        "ephemeralContainers = name",
        "volumes = name",
        "imagePullSecrets = name",
        "hostAliases = ip",
        "tolerations = key+operator+effect+value",
        "topologySpreadConstraints = topologyKey+whenUnsatisfiable",
        "readinessGates = conditionType",
        "schedulingGates = name",
        "resourceClaims = name",
        "dnsConfig nameservers = set",
        "dnsConfig options = name",
        "dnsConfig searches = seq",
        "securityContext sysctls = name",
        "securityContext supplementalGroups = set",
    ];
    for (kind, path) in [
        ("Pod", "spec"),
        ("Deployment", "spec template spec"),
        ("StatefulSet", "spec template spec"),
        ("DaemonSet", "spec template spec"),
        ("Job", "spec template spec"),
        ("CronJob", "spec jobTemplate spec template spec"),
    ] {
        pod.iter().for_each(|case| check_all(kind, &[&format!("{path} {case}")]));
    }
}

#[test]
fn lists_of_containers_have_their_keys() {
    for case in [
        "env = name ordered",
        "envFrom = configMapRef.name+prefix(=)|secretRef.name+prefix(=)",
        "ports = containerPort+protocol(=TCP) / name",
        "volumeMounts = mountPath / name+subPath",
        "volumeDevices = devicePath",
        "resources claims = name",
        "resizePolicy = resourceName",
        "securityContext capabilities add = set",
        "securityContext capabilities drop = set",
        "livenessProbe httpGet httpHeaders = name",
        "command = pos",
        "args = pos",
    ] {
        check_all("Deployment", &[&format!("spec template spec containers {case}")]);
    }
}

#[test]
fn lists_of_volumes_and_selectors_have_their_keys() {
    let sources = "configMap.name|secret.name|serviceAccountToken.path|clusterTrustBundle.name";
    let terms = "spec affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms";
    check_all(
        "Pod",
        &[
            "spec volumes configMap items = key",
            "spec volumes secret items = key",
            "spec volumes downwardAPI items = path",
            &format!("spec volumes projected sources = {sources}"),
            &format!("{terms} = seq"),
            &format!("{terms} matchExpressions = key+operator"),
            &format!("{terms} matchExpressions values = set"),
            "spec affinity podAffinity preferredDuringSchedulingIgnoredDuringExecution = seq",
            "spec affinity podAffinity requiredDuringSchedulingIgnoredDuringExecution = seq",
        ],
    );
}

#[test]
fn lists_of_services_claims_and_jobs_have_their_keys() {
    check_all(
        "Service",
        &[
            "spec ports = port+protocol(=TCP) / name",
            "spec externalIPs = set",
            "spec loadBalancerSourceRanges = set",
            "spec ipFamilies = seq",
        ],
    );
    check_all("EndpointSlice", &["ports = name", "endpoints = addresses"]);
    check_all("StatefulSet", &["spec volumeClaimTemplates = metadata.name"]);
    check_all("PersistentVolumeClaim", &["spec accessModes = set"]);
    check_all("Job", &["spec podFailurePolicy rules = seq"]);
}

#[test]
fn lists_of_routes_and_policies_have_their_keys() {
    check_all(
        "Ingress",
        &[
            "spec rules = host(=)",
            "spec rules http paths = path+pathType",
            "spec tls = secretName / hosts",
            "spec tls hosts = set",
        ],
    );
    check_all(
        "NetworkPolicy",
        &[
            "spec policyTypes = set",
            "spec ingress ports = port+protocol(=TCP)",
            "spec ingress = seq",
            "spec egress = seq",
            "spec ingress from = seq",
            "spec egress to = seq",
        ],
    );
}

#[test]
fn lists_of_scalers_limits_and_roles_have_their_keys() {
    let metric = "type+resource.name(=)+containerResource.name(=)+containerResource.container(=)+pods.metric.name(=)+object.metric.name(=)+external.metric.name(=)";
    check_all(
        "HorizontalPodAutoscaler",
        &[&format!("spec metrics = {metric}"), "spec behavior scaleUp policies = type"],
    );
    check_all("LimitRange", &["spec limits = type"]);
    check_all("ResourceQuota", &["spec scopes = set"]);
    check_all("RoleBinding", &["subjects = kind+namespace(=)+name"]);
    check_all(
        "ClusterRole",
        &[
            "rules = apiGroups+resources+resourceNames+nonResourceURLs",
            "rules verbs = set",
            "rules apiGroups = set",
            "rules resources = set",
            "rules resourceNames = set",
        ],
    );
}

#[test]
fn lists_of_admission_and_definitions_have_their_keys() {
    check_all(
        "ValidatingWebhookConfiguration",
        &["webhooks = name", "webhooks rules = seq", "webhooks matchConditions = name"],
    );
    check_all(
        "ValidatingAdmissionPolicy",
        &["spec validations = expression", "spec variables = name", "spec matchConditions = name"],
    );
    let schema = "spec versions schema openAPIV3Schema properties spec";
    check_all(
        "CustomResourceDefinition",
        &[
            "spec versions = name",
            "spec versions additionalPrinterColumns = name",
            "spec names shortNames = set",
            "spec names categories = set",
            &format!("{schema} required = set"),
            &format!("{schema} enum = seq"),
            &format!("{schema} oneOf = seq"),
            &format!("{schema} anyOf = seq"),
            &format!("{schema} allOf = seq"),
            &format!("{schema} x-kubernetes-validations = rule"),
        ],
    );
}

#[test]
fn lists_of_kustomizations_have_their_keys() {
    let target = "path(=)+target.group(=)+target.kind(=)+target.namespace(=)+target.name(=)+target.labelSelector(=)+target.annotationSelector(=) / path";
    let source = "path|source.group(=)+source.kind+source.namespace(=)+source.name+source.fieldPath(=)";
    check_all(
        "Kustomization",
        &[
            "resources = named ordered",
            "components = named ordered",
            "bases = named ordered",
            "crds = named ordered",
            "configurations = named ordered",
            "generators = named ordered",
            "transformers = named ordered",
            "validators = named ordered",
            "images = name",
            "replicas = name",
            "vars = name",
            "configMapGenerator = namespace(=)+name",
            "secretGenerator = namespace(=)+name",
            "configMapGenerator literals = named",
            "secretGenerator files = named",
            &format!("patches = {target} ordered"),
            "patchesStrategicMerge = named ordered",
            "patchesJson6902 = target.group(=)+target.kind+target.namespace(=)+target.name+path(=) ordered",
            "helmCharts = name+releaseName(=)",
            &format!("replacements = {source}"),
            "labels = seq",
        ],
    );
}

#[test]
fn lists_of_files_without_a_kind_are_known_by_name() {
    check_all(
        "",
        &[
            "env = name ordered",
            "extraEnv = name ordered",
            "envVars = name ordered",
            "web volumes = name",
            "extraVolumes = name",
            "containers = name",
            "sidecars = name",
            "initContainers = name ordered",
            "extraContainers = name",
            "imagePullSecrets = name",
            "volumeMounts = mountPath / name+subPath",
            "extraVolumeMounts = mountPath / name+subPath",
            "ingress hosts = host",
            "ingress tls = secretName",
            "ingress paths = path",
            "tolerations = key+operator+effect+value",
            "extraArgs = pos",
            "requires = alias|name",
            "defaultSecrets = key",
            "requiredSecrets = set",
        ],
    );
}

#[test]
fn lists_of_gateways_have_their_keys() {
    let reference = "group(=)+kind(=)+namespace(=)+name+sectionName(=)+port(=)";
    check_all(
        "HTTPRoute",
        &[
            &format!("spec parentRefs = {reference}"),
            &format!("spec rules backendRefs = {reference}"),
            "spec hostnames = set",
            "spec rules matches = seq",
            "spec rules filters = seq",
        ],
    );
    check_all(
        "Gateway",
        &["spec listeners = name", "spec servers = port.name|port.number", "spec servers hosts = set"],
    );
    check_all("VirtualService", &["spec hosts = set", "spec gateways = set"]);
    check_all(
        "IngressRoute",
        &[
            "spec entryPoints = set",
            "spec routes = match",
            "spec routes services = namespace(=)+name+port(=)",
            "spec routes middlewares = namespace(=)+name+port(=)",
            "spec tls domains = main",
        ],
    );
    check_all("Middleware", &["spec chain middlewares = seq"]);
}

#[test]
fn lists_of_operators_have_their_keys() {
    check_all("PrometheusRule", &["spec groups = name", "spec groups rules = alert|record ordered"]);
    check_all("ServiceMonitor", &["spec endpoints = port+path(=)"]);
    check_all("", &["scrape_configs = job_name", "receivers = name", "route routes = seq"]);
    check_all(
        "Certificate",
        &["spec dnsNames = set", "spec ipAddresses = set", "spec uris = set", "spec usages = set"],
    );
    check_all("ClusterIssuer", &["spec acme solvers = seq"]);
    check_all("ExternalSecret", &["spec data = secretKey"]);
    check_all("IPAddressPool", &["spec addresses = set"]);
    check_all("L2Advertisement", &["spec ipAddressPools = set"]);
}

#[test]
fn lists_of_other_deployers_have_their_keys() {
    check_all("HelmRelease", &["spec dependsOn = namespace(=)+name", "spec valuesFrom = kind+name+valuesKey(=)"]);
    check_all("Kustomization", &["spec postBuild substituteFrom = kind+name"]);
    check_all("Kustomization", &["spec healthChecks = apiVersion+kind+namespace(=)+name"]);
    check_all(
        "Application",
        &[
            "spec sources = repoURL+chart(=)+path(=)+ref(=)",
            "spec ignoreDifferences = group(=)+kind+namespace(=)+name(=)",
            "spec source helm parameters = name",
            "spec info = name",
            "spec syncPolicy syncOptions = named",
        ],
    );
    check_all("AppProject", &["spec destinations = server+namespace(=)|name+namespace(=)", "spec sourceRepos = set"]);
    check_all("ApplicationSet", &["spec generators = seq"]);
}

#[test]
fn lists_that_only_their_items_tell_apart_are_left_to_them() {
    for (kind, path) in
        [("HTTPRoute", ["spec", "rules"]), ("VirtualService", ["spec", "http"]), ("ScaledObject", ["spec", "triggers"])]
    {
        assert_eq!(merge_rule("", kind, &path), None, "{kind} {path:?}");
    }
}

#[test]
fn one_field_name_means_different_lists() {
    check("Deployment", "spec template spec containers ports", "containerPort+protocol(=TCP) / name");
    check("Service", "spec ports", "port+protocol(=TCP) / name");
    check("NetworkPolicy", "spec ingress ports", "port+protocol(=TCP)");
    check("Ingress", "spec rules", "host(=)");
    check("Role", "rules", "apiGroups+resources+resourceNames+nonResourceURLs");
}

#[test]
fn the_servers_own_markers_answer_where_the_table_is_silent() {
    check("ServiceAccount", "secrets", "name");
    assert_eq!(merge_rule("", "", &["things"]), None);
}

#[test]
fn files_without_a_kind_know_their_lists_by_name() {
    check("", "extraEnv", "name ordered");
    check("", "tolerations", "key+operator+effect+value");
}

#[test]
fn rules_have_one_spelling() {
    assert_eq!(ListRule::parse("seq").unwrap().form, ListForm::Sequence);
    assert!(matches!(
        ListRule::parse("name|id / mountPath ordered"),
        Some(ListRule { form: ListForm::Keyed(ListKeys { primary, .. }), is_ordered: true }) if primary.len() == 2
    ));
    assert_eq!(ListRule::parse(" "), None);
}
