//! Pure. A kustomization file as typed fields, and the fields that are refused by name.
//!
//! Format: `kustomization.yaml` of kustomize v5, read as the Kubernetes dialect. Keys match without regard to case.
//!
//! Not here: what the fields do.

use super::fields::Place;
use super::item::Behavior;
use super::order::Order;
use super::reader::Section;
use super::{Refusal, refuse, replacements};
use crate::yaml::{Dialect, load_one};

/// Fields that need programs, the network or other builds; with id and what to do instead.
pub(super) const REFUSED: [(&str, &str, &str); 11] = [
    ("helmCharts", "K133", "render the chart once and list its output under resources"),
    ("helmGlobals", "K133", "render the chart once and list its output under resources"),
    ("helmChartInflationGenerator", "K133", "render the chart once and list its output under resources"),
    ("generators", "K134", "list the generated objects under resources"),
    ("transformers", "K134", "use the built-in fields of the kustomization"),
    ("validators", "K134", "validate outside of the build"),
    ("configurations", "K135", "name the places in fields of labels, or use patches"),
    ("openapi", "K136", "use a JSON patch for lists of custom resources"),
    ("crds", "K136", "list CustomResourceDefinitions under resources"),
    ("vars", "K137", "use replacements"),
    ("buildMetadata", "K138", "remove it, origins are shown by the app's diagnostics"),
];

/// Fields that are built.
pub(super) const KNOWN: [&str; 23] = [
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "bases",
    "components",
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "images",
    "imageTags",
    "replicas",
    "replacements",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "configMapGenerator",
    "secretGenerator",
    "generatorOptions",
    "sortOptions",
];

/// Whether a directory stands on its own or changes the objects of the one that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Role {
    /// `kind: Kustomization`.
    #[default]
    Kustomization,
    /// `kind: Component`.
    Component,
}

/// A list entry with its line.
pub(super) type Entry = (String, usize);

/// A kustomization file.
#[derive(Clone, Debug, Default)]
pub(super) struct Kustomization {
    pub(super) file: String,
    pub(super) role: Role,
    pub(super) resources: Vec<Entry>,
    pub(super) components: Vec<Entry>,
    pub(super) namespace: String,
    pub(super) name_prefix: String,
    pub(super) name_suffix: String,
    pub(super) labels: Vec<Labels>,
    pub(super) common_labels: Vec<(String, String)>,
    pub(super) common_annotations: Vec<(String, String)>,
    pub(super) images: Vec<Image>,
    pub(super) replicas: Vec<Replicas>,
    pub(super) replacements: Vec<replacements::Listed>,
    pub(super) patches: Vec<Patch>,
    pub(super) strategic_patches: Vec<Entry>,
    pub(super) json_patches: Vec<Patch>,
    pub(super) config_maps: Vec<Generator>,
    pub(super) secrets: Vec<Generator>,
    pub(super) order: Order,
}

/// How far labels reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Reach {
    /// Metadata of the objects.
    #[default]
    Metadata,
    /// Also pod templates.
    Templates,
    /// Also selectors.
    Selectors,
}

/// An entry of `labels`.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    pub(super) pairs: Vec<(String, String)>,
    pub(super) reach: Reach,
    pub(super) places: Vec<Place>,
    pub(super) line: usize,
}

/// An entry of `images`.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    pub(super) name: String,
    pub(super) new_name: String,
    pub(super) new_tag: String,
    pub(super) tag_suffix: String,
    pub(super) digest: String,
    pub(super) line: usize,
}

/// An entry of `replicas`.
#[derive(Clone, Debug, Default)]
pub(super) struct Replicas {
    pub(super) name: String,
    pub(super) count: i64,
    pub(super) line: usize,
}

/// Which objects a patch changes: regular expressions, and selectors of labels and annotations.
#[derive(Clone, Debug, Default)]
pub(super) struct Target {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) label_selector: String,
    pub(super) annotation_selector: String,
}

/// What a patch may change that it otherwise must keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Allowed {
    pub(super) name: bool,
    pub(super) kind: bool,
}

/// An entry of `patches`.
#[derive(Clone, Debug, Default)]
pub(super) struct Patch {
    pub(super) path: String,
    pub(super) patch: String,
    pub(super) target: Option<Target>,
    pub(super) allowed: Allowed,
    pub(super) line: usize,
}

/// An entry of a generator.
#[derive(Clone, Debug, Default)]
pub(super) struct Generator {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) behavior: Behavior,
    pub(super) literals: Vec<Entry>,
    pub(super) files: Vec<Entry>,
    pub(super) envs: Vec<Entry>,
    /// Type of a Secret.
    pub(super) secret_type: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) annotations: Vec<(String, String)>,
    pub(super) immutable: bool,
    pub(super) plain_name: bool,
    pub(super) line: usize,
}

/// Reads a kustomization file.
pub(super) fn read(file: &str, text: &str) -> Result<Kustomization, Refusal> {
    let Some(document) = load_one(file, text, Dialect::Kube)? else {
        return refuse("K104", file, 1, "the kustomization is empty");
    };
    let root = Section::root(file, &document)?;
    for (field, id, hint) in REFUSED {
        if root.field(field).is_some() {
            let mut refusal =
                root.refuse::<()>(id, field, format!("{field} is not supported")).err().unwrap_or_default();
            refusal.iter_mut().for_each(|finding| hint.clone_into(&mut finding.hint));
            return Err(refusal);
        }
    }
    root.allow_only(&KNOWN)?;
    let role = role(&root)?;
    let mut resources = root.texts("resources")?;
    resources.extend(root.texts("bases")?);
    let options = root.section("generatorOptions")?;
    let kustomization = Kustomization {
        file: file.to_owned(),
        role,
        resources,
        components: root.texts("components")?,
        namespace: root.text_or_empty("namespace")?,
        name_prefix: root.text_or_empty("namePrefix")?,
        name_suffix: root.text_or_empty("nameSuffix")?,
        labels: each(&root, "labels", labels)?,
        common_labels: root.text_map("commonLabels")?,
        common_annotations: root.text_map("commonAnnotations")?,
        images: [each(&root, "images", image)?, each(&root, "imageTags", image)?].concat(),
        replicas: each(&root, "replicas", replicas)?,
        replacements: each(&root, "replacements", replacements::read)?,
        patches: each(&root, "patches", patch)?,
        strategic_patches: root.texts("patchesStrategicMerge")?,
        json_patches: each(&root, "patchesJson6902", patch)?,
        config_maps: each(&root, "configMapGenerator", |entry| generator(entry, options.as_ref()))?,
        secrets: each(&root, "secretGenerator", |entry| generator(entry, options.as_ref()))?,
        order: order(&root)?,
    };
    check(&root)?;
    Ok(kustomization)
}

fn check(root: &Section<'_>) -> Result<(), Refusal> {
    let only_header = ["apiVersion", "kind"];
    if KNOWN.iter().all(|field| only_header.contains(field) || root.field(field).is_none()) {
        return root.refuse("K104", "kind", "the kustomization is empty");
    }
    Ok(())
}

fn role(root: &Section<'_>) -> Result<Role, Refusal> {
    let role = match root.text("kind")?.unwrap_or("") {
        "" | "Kustomization" => Role::Kustomization,
        "Component" => Role::Component,
        other => return root.refuse("K105", "kind", format!("the kind of a kustomization is not {other:?}")),
    };
    let wanted = match role {
        Role::Kustomization => "kustomize.config.k8s.io/v1beta1",
        Role::Component => "kustomize.config.k8s.io/v1alpha1",
    };
    match root.text("apiVersion")?.unwrap_or("") {
        "" => Ok(role),
        version if version == wanted => Ok(role),
        _ => root.refuse("K105", "apiVersion", format!("the apiVersion here is {wanted}")),
    }
}

pub(super) fn each<'a, T>(
    root: &Section<'a>,
    field: &str,
    read: impl Fn(&Section<'a>) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    root.sections(field)?.iter().map(read).collect()
}

fn labels(entry: &Section<'_>) -> Result<Labels, Refusal> {
    entry.allow_only(&["pairs", "includeSelectors", "includeTemplates", "fields"])?;
    let reach = match (entry.flag("includeSelectors")?, entry.flag("includeTemplates")?) {
        (true, _) => Reach::Selectors,
        (false, true) => Reach::Templates,
        (false, false) => Reach::Metadata,
    };
    let places = each(entry, "fields", place)?;
    Ok(Labels { pairs: entry.text_map("pairs")?, reach, places, line: entry.line() })
}

fn place(entry: &Section<'_>) -> Result<Place, Refusal> {
    entry.allow_only(&["group", "version", "kind", "path", "create"])?;
    Ok(Place {
        group: entry.text_or_empty("group")?,
        version: entry.text_or_empty("version")?,
        kind: entry.text_or_empty("kind")?,
        path: Place::split(&entry.text_or_empty("path")?),
        create: entry.flag("create")?,
    })
}

fn image(entry: &Section<'_>) -> Result<Image, Refusal> {
    entry.allow_only(&["name", "newName", "newTag", "tagSuffix", "digest"])?;
    Ok(Image {
        name: entry.text_or_empty("name")?,
        new_name: entry.text_or_empty("newName")?,
        new_tag: entry.text_or_empty("newTag")?,
        tag_suffix: entry.text_or_empty("tagSuffix")?,
        digest: entry.text_or_empty("digest")?,
        line: entry.line(),
    })
}

fn replicas(entry: &Section<'_>) -> Result<Replicas, Refusal> {
    entry.allow_only(&["name", "count"])?;
    Ok(Replicas { name: entry.text_or_empty("name")?, count: entry.number("count")?, line: entry.line() })
}

fn patch(entry: &Section<'_>) -> Result<Patch, Refusal> {
    entry.allow_only(&["path", "patch", "target", "options"])?;
    let allowed = match entry.section("options")? {
        None => Allowed::default(),
        Some(options) => {
            options.allow_only(&["allowNameChange", "allowKindChange"])?;
            Allowed { name: options.flag("allowNameChange")?, kind: options.flag("allowKindChange")? }
        }
    };
    let patch = Patch {
        path: entry.text_or_empty("path")?,
        patch: entry.text_or_empty("patch")?.trim().to_owned(),
        target: entry.section("target")?.map(|section| target(&section)).transpose()?,
        allowed,
        line: entry.line(),
    };
    match (patch.path.is_empty(), patch.patch.is_empty()) {
        (true, true) => entry.refuse("K140", "patch", "a patch wants one of patch and path"),
        (false, false) => entry.refuse("K140", "patch", "a patch wants one of patch and path, not both"),
        (true, false) | (false, true) => Ok(patch),
    }
}

pub(super) fn target(entry: &Section<'_>) -> Result<Target, Refusal> {
    entry.allow_only(&["group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"])?;
    Ok(Target {
        group: entry.text_or_empty("group")?,
        version: entry.text_or_empty("version")?,
        kind: entry.text_or_empty("kind")?,
        name: entry.text_or_empty("name")?,
        namespace: entry.text_or_empty("namespace")?,
        label_selector: entry.text_or_empty("labelSelector")?,
        annotation_selector: entry.text_or_empty("annotationSelector")?,
    })
}

fn generator(entry: &Section<'_>, global: Option<&Section<'_>>) -> Result<Generator, Refusal> {
    entry.allow_only(&["name", "namespace", "behavior", "literals", "files", "envs", "env", "type", "options"])?;
    let behavior = match entry.text("behavior")?.unwrap_or("") {
        "replace" => Behavior::Replace,
        "merge" => Behavior::Merge,
        // kustomize takes every other word for create.
        _ => Behavior::Create,
    };
    let mut envs = entry.texts("envs")?;
    envs.extend(entry.text("env")?.map(|env| (env.to_owned(), entry.line_of("env"))));
    let mut generator = Generator {
        name: entry.text_or_empty("name")?,
        namespace: entry.text_or_empty("namespace")?,
        behavior,
        literals: entry.texts("literals")?,
        files: entry.texts("files")?,
        envs,
        secret_type: entry.text_or_empty("type")?,
        line: entry.line(),
        ..Generator::default()
    };
    // Local options come first and win; a boolean that is true for all cannot be undone for one.
    for options in [entry.section("options")?.as_ref(), global].into_iter().flatten() {
        options.allow_only(&["labels", "annotations", "immutable", "disableNameSuffixHash"])?;
        unite(&mut generator.labels, options.text_map("labels")?);
        unite(&mut generator.annotations, options.text_map("annotations")?);
        generator.immutable |= options.flag("immutable")?;
        generator.plain_name |= options.flag("disableNameSuffixHash")?;
    }
    if generator.name.is_empty() {
        return entry.refuse("K150", "name", "a generator wants a name");
    }
    Ok(generator)
}

fn unite(entries: &mut Vec<(String, String)>, more: Vec<(String, String)>) {
    for (key, value) in more {
        if !entries.iter().any(|(known, _)| *known == key) {
            entries.push((key, value));
        }
    }
}

fn order(root: &Section<'_>) -> Result<Order, Refusal> {
    let Some(options) = root.section("sortOptions")? else { return Ok(Order::default()) };
    options.allow_only(&["order", "legacySortOptions"])?;
    let legacy = options.section("legacySortOptions")?;
    match (options.text("order")?.unwrap_or(""), legacy) {
        ("fifo", None) => Ok(Order::Fifo),
        ("legacy", None) => Ok(Order::default()),
        ("legacy", Some(legacy)) => {
            legacy.allow_only(&["orderFirst", "orderLast"])?;
            let kinds = |field| -> Result<Vec<String>, Refusal> {
                Ok(legacy.texts(field)?.into_iter().map(|(kind, _)| kind).collect())
            };
            Ok(Order::Legacy { first: kinds("orderFirst")?, last: kinds("orderLast")? })
        }
        ("fifo", Some(_)) => options.refuse("K109", "legacySortOptions", "legacySortOptions wants order: legacy"),
        (_, _) => options.refuse("K109", "order", "order is fifo or legacy"),
    }
}
