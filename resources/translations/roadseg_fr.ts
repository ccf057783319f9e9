<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="fr" sourcelanguage="en">
<context>
    <name>RoadSeg</name>
    <message>
        <source>Runtime</source>
        <translation>Environnement d'exécution</translation>
    </message>
    <message>
        <source>Set up runtime</source>
        <translation>Installer l'environnement d'exécution</translation>
    </message>
    <message>
        <source>install,python,environment,pip,dependencies,pytorch,torch</source>
        <translation>installer,configurer,python,environnement,pip,dépendances,pytorch,torch</translation>
    </message>
    <message>
        <source>Packages</source>
        <translation>Paquets</translation>
    </message>
    <message>
        <source>Extra index URL</source>
        <translation>URL d'un index de paquets supplémentaire</translation>
    </message>
    <message>
        <source>Index URL</source>
        <translation>URL de l'index de paquets</translation>
    </message>
    <message>
        <source>Folder of wheels</source>
        <translation>Dossier de paquets wheel</translation>
    </message>
    <message>
        <source>Also install</source>
        <translation>Installer aussi</translation>
    </message>
    <message>
        <source>Rebuild</source>
        <translation>Recréer</translation>
    </message>
    <message>
        <source>Base Python</source>
        <translation>Python de base</translation>
    </message>
    <message>
        <source>The runtime's Python</source>
        <translation>Python de l'environnement d'exécution</translation>
    </message>
    <message>
        <source>Versions</source>
        <translation>Versions</translation>
    </message>
    <message>
        <source>Profile this computer</source>
        <translation>Profiler cet ordinateur</translation>
    </message>
    <message>
        <source>performance,speed,benchmark,bottleneck,roofline,flame graph,trace,cpu,memory bandwidth,optimize</source>
        <translation>performances,vitesse,benchmark,goulet d'étranglement,roofline,graphe de flammes,trace,cpu,processeur,bande passante mémoire,optimiser</translation>
    </message>
    <message>
        <source>Image</source>
        <translation>Image</translation>
    </message>
    <message>
        <source>What to profile</source>
        <translation>Que profiler</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modèle</translation>
    </message>
    <message>
        <source>Time (s)</source>
        <translation>Durée (s)</translation>
    </message>
    <message>
        <source>Try the advice</source>
        <translation>Essayer les conseils</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>Fils d'exécution</translation>
    </message>
    <message>
        <source>Chip size (px)</source>
        <translation>Taille des vignettes (px)</translation>
    </message>
    <message>
        <source>Batch size</source>
        <translation>Taille du lot</translation>
    </message>
    <message>
        <source>Gradient accumulation</source>
        <translation>Accumulation de gradients</translation>
    </message>
    <message>
        <source>Recompute activations</source>
        <translation>Recalculer les activations</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimiseur</translation>
    </message>
    <message>
        <source>Frozen stages</source>
        <translation>Étages figés</translation>
    </message>
    <message>
        <source>Batch norm</source>
        <translation>Normalisation par lots</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Moteur</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Précision</translation>
    </message>
    <message>
        <source>Tile size (px)</source>
        <translation>Taille des tuiles (px)</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>Rapport</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>Trace</source>
        <translation>Trace</translation>
    </message>
    <message>
        <source>Time of a step (s)</source>
        <translation>Durée d'un pas (s)</translation>
    </message>
    <message>
        <source>Images per second</source>
        <translation>Images par seconde</translation>
    </message>
    <message>
        <source>Fraction of the processor's peak</source>
        <translation>Part de la performance maximale du processeur</translation>
    </message>
    <message>
        <source>Unaccounted fraction of the step</source>
        <translation>Part du pas non attribuée</translation>
    </message>
    <message>
        <source>Profiling overhead, as a fraction of the step</source>
        <translation>Surcoût du profilage, en part du pas</translation>
    </message>
    <message>
        <source>Engine used</source>
        <translation>Moteur utilisé</translation>
    </message>
    <message>
        <source>Precision used</source>
        <translation>Précision utilisée</translation>
    </message>
    <message>
        <source>Compare profiles</source>
        <translation>Comparer des profils</translation>
    </message>
    <message>
        <source>performance,speed,benchmark,regression,before,after,faster,slower,difference</source>
        <translation>performances,vitesse,benchmark,régression,avant,après,plus rapide,plus lent,différence</translation>
    </message>
    <message>
        <source>Profile after</source>
        <translation>Profil après</translation>
    </message>
    <message>
        <source>Profile before</source>
        <translation>Profil avant</translation>
    </message>
    <message>
        <source>Differences</source>
        <translation>Différences</translation>
    </message>
    <message>
        <source>Time of a step before (s)</source>
        <translation>Durée d'un pas avant (s)</translation>
    </message>
    <message>
        <source>Time of a step after (s)</source>
        <translation>Durée d'un pas après (s)</translation>
    </message>
    <message>
        <source>Ratio of the times, after to before</source>
        <translation>Rapport des durées, après sur avant</translation>
    </message>
    <message>
        <source>Report a problem</source>
        <translation>Signaler un problème</translation>
    </message>
    <message>
        <source>bug,error,issue,support,log,versions,diagnostics</source>
        <translation>bogue,erreur,problème,signalement,aide,journal,versions,diagnostic</translation>
    </message>
    <message>
        <source>Include file paths</source>
        <translation>Inclure les chemins des fichiers</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Entraînement</translation>
    </message>
    <message>
        <source>Create label layers</source>
        <translation>Créer des couches d'étiquettes</translation>
    </message>
    <message>
        <source>draw,digitize,annotate,label,area of interest,aoi,new layer,geopackage,form,road</source>
        <translation>dessiner,numériser,annoter,étiqueter,zone d'intérêt,aoi,nouvelle couche,geopackage,formulaire,route</translation>
    </message>
    <message>
        <source>Width of a new road (m)</source>
        <translation>Largeur d'une nouvelle route (m)</translation>
    </message>
    <message>
        <source>Road classes</source>
        <translation>Classes de route</translation>
    </message>
    <message>
        <source>Extent</source>
        <translation>Emprise</translation>
    </message>
    <message>
        <source>Label layers</source>
        <translation>Couches d'étiquettes</translation>
    </message>
    <message>
        <source>Area of interest</source>
        <translation>Zone d'intérêt</translation>
    </message>
    <message>
        <source>No road here</source>
        <translation>Pas de route ici</translation>
    </message>
    <message>
        <source>Fine-tune a model</source>
        <translation>Affiner un modèle</translation>
    </message>
    <message>
        <source>train,learn,model,deep learning,neural network,road</source>
        <translation>entraîner,apprendre,fine-tuning,modèle,apprentissage profond,réseau de neurones,route</translation>
    </message>
    <message>
        <source>Images</source>
        <translation>Images</translation>
    </message>
    <message>
        <source>Drawn roads</source>
        <translation>Routes dessinées</translation>
    </message>
    <message>
        <source>Label masks</source>
        <translation>Masques d'étiquettes</translation>
    </message>
    <message>
        <source>Road width field</source>
        <translation>Champ de la largeur des routes</translation>
    </message>
    <message>
        <source>Time budget (min)</source>
        <translation>Temps alloué (min)</translation>
    </message>
    <message>
        <source>Road width (m)</source>
        <translation>Largeur de route (m)</translation>
    </message>
    <message>
        <source>Base model</source>
        <translation>Modèle de base</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Reprendre</translation>
    </message>
    <message>
        <source>Sure field</source>
        <translation>Champ des routes sûres</translation>
    </message>
    <message>
        <source>Road class field</source>
        <translation>Champ de la classe de route</translation>
    </message>
    <message>
        <source>Speed field</source>
        <translation>Champ de vitesse</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Périphérique</translation>
    </message>
    <message>
        <source>Processes</source>
        <translation>Processus</translation>
    </message>
    <message>
        <source>Exchange precision</source>
        <translation>Précision des échanges</translation>
    </message>
    <message>
        <source>Pipeline stages</source>
        <translation>Étages du pipeline</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Pas</translation>
    </message>
    <message>
        <source>Sample</source>
        <translation>Échantillon</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Taux d'apprentissage</translation>
    </message>
    <message>
        <source>Encoder learning rate</source>
        <translation>Taux d'apprentissage de l'encodeur</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Graine aléatoire</translation>
    </message>
    <message>
        <source>Background distance (m)</source>
        <translation>Distance d'arrière-plan (m)</translation>
    </message>
    <message>
        <source>Road values</source>
        <translation>Valeurs de route</translation>
    </message>
    <message>
        <source>Ignored values</source>
        <translation>Valeurs ignorées</translation>
    </message>
    <message>
        <source>Pixel size (m)</source>
        <translation>Taille de pixel (m)</translation>
    </message>
    <message>
        <source>Move roads onto the images</source>
        <translation>Déplacer les routes sur les images</translation>
    </message>
    <message>
        <source>Bands</source>
        <translation>Bandes</translation>
    </message>
    <message>
        <source>Ground resolution (m)</source>
        <translation>Résolution au sol (m)</translation>
    </message>
    <message>
        <source>Weight interpolation</source>
        <translation>Interpolation des poids</translation>
    </message>
    <message>
        <source>Validation fraction</source>
        <translation>Part réservée à la validation</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architecture</translation>
    </message>
    <message>
        <source>Encoder</source>
        <translation>Encodeur</translation>
    </message>
    <message>
        <source>Keep the best when stopped</source>
        <translation>Conserver le meilleur en cas d'arrêt</translation>
    </message>
    <message>
        <source>Training steps</source>
        <translation>Pas d'entraînement</translation>
    </message>
    <message>
        <source>Validation IoU</source>
        <translation>IoU de validation</translation>
    </message>
    <message>
        <source>Validation F1</source>
        <translation>F1 de validation</translation>
    </message>
    <message>
        <source>Validation precision</source>
        <translation>Précision de validation</translation>
    </message>
    <message>
        <source>Validation recall</source>
        <translation>Rappel de validation</translation>
    </message>
    <message>
        <source>Evaluate a model</source>
        <translation>Évaluer un modèle</translation>
    </message>
    <message>
        <source>score,accuracy,iou,f1,precision,recall,validate,test,deep learning,road</source>
        <translation>score,exactitude,iou,f1,précision,rappel,valider,tester,apprentissage profond,route</translation>
    </message>
    <message>
        <source>Tolerance (m)</source>
        <translation>Tolérance (m)</translation>
    </message>
    <message>
        <source>Halo</source>
        <translation>Marge de recouvrement des tuiles (halo)</translation>
    </message>
    <message>
        <source>Memory (GB)</source>
        <translation>Mémoire (Go)</translation>
    </message>
    <message>
        <source>Test-time augmentation</source>
        <translation>Augmentation à l'inférence (TTA)</translation>
    </message>
    <message>
        <source>Threshold</source>
        <translation>Seuil</translation>
    </message>
    <message>
        <source>Grid</source>
        <translation>Grille</translation>
    </message>
    <message>
        <source>Scores</source>
        <translation>Scores</translation>
    </message>
    <message>
        <source>IoU</source>
        <translation>IoU</translation>
    </message>
    <message>
        <source>F1</source>
        <translation>F1</translation>
    </message>
    <message>
        <source>Recall</source>
        <translation>Rappel</translation>
    </message>
    <message>
        <source>Relaxed F1</source>
        <translation>F1 avec tolérance</translation>
    </message>
    <message>
        <source>Relaxed precision</source>
        <translation>Précision avec tolérance</translation>
    </message>
    <message>
        <source>Relaxed recall</source>
        <translation>Rappel avec tolérance</translation>
    </message>
    <message>
        <source>Threshold with the best F1</source>
        <translation>Seuil donnant le meilleur F1</translation>
    </message>
    <message>
        <source>F1 at that threshold</source>
        <translation>F1 à ce seuil</translation>
    </message>
    <message>
        <source>Evaluated pixels</source>
        <translation>Pixels évalués</translation>
    </message>
    <message>
        <source>Fraction of road pixels</source>
        <translation>Part de pixels de route</translation>
    </message>
    <message>
        <source>Suggest where to label</source>
        <translation>Suggérer où dessiner</translation>
    </message>
    <message>
        <source>active learning,uncertainty,entropy,annotate,draw,digitize,label,area of interest,road</source>
        <translation>apprentissage actif,incertitude,entropie,annoter,dessiner,numériser,étiqueter,zone d'intérêt,route</translation>
    </message>
    <message>
        <source>Road probability</source>
        <translation>Probabilité de route</translation>
    </message>
    <message>
        <source>Labeled areas</source>
        <translation>Zones déjà dessinées</translation>
    </message>
    <message>
        <source>Number of patches</source>
        <translation>Nombre de carrés</translation>
    </message>
    <message>
        <source>Patch size (m)</source>
        <translation>Taille d'un carré (m)</translation>
    </message>
    <message>
        <source>Spread</source>
        <translation>Dispersion</translation>
    </message>
    <message>
        <source>Patches to label</source>
        <translation>Carrés à dessiner</translation>
    </message>
    <message>
        <source>Number of suggested patches</source>
        <translation>Nombre de carrés suggérés</translation>
    </message>
    <message>
        <source>Mean uncertainty of the scene</source>
        <translation>Incertitude moyenne de la scène</translation>
    </message>
    <message>
        <source>Export training chips</source>
        <translation>Exporter des vignettes d'entraînement</translation>
    </message>
    <message>
        <source>tiles,patches,dataset,training data,coco,stac,esri,arcgis,label,mask,deep learning,road</source>
        <translation>tuiles,vignettes,jeu de données,données d'entraînement,coco,stac,esri,arcgis,étiquette,masque,apprentissage profond,route</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>Overlap (px)</source>
        <translation>Recouvrement (px)</translation>
    </message>
    <message>
        <source>Minimum labeled fraction</source>
        <translation>Part étiquetée minimale</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Dossier</translation>
    </message>
    <message>
        <source>Number of chips</source>
        <translation>Nombre de vignettes</translation>
    </message>
    <message>
        <source>Images with chips</source>
        <translation>Images avec des vignettes</translation>
    </message>
    <message>
        <source>Fraction of labeled pixels</source>
        <translation>Part de pixels étiquetés</translation>
    </message>
    <message>
        <source>Export a model</source>
        <translation>Exporter un modèle</translation>
    </message>
    <message>
        <source>onnx,deepness,stac,mlm,share,convert,save,model,road</source>
        <translation>onnx,deepness,stac,mlm,partager,convertir,enregistrer,modèle,route</translation>
    </message>
    <message>
        <source>ONNX model</source>
        <translation>Modèle ONNX</translation>
    </message>
    <message>
        <source>STAC item</source>
        <translation>Élément STAC</translation>
    </message>
    <message>
        <source>File size (MB)</source>
        <translation>Taille du fichier (Mo)</translation>
    </message>
    <message>
        <source>Quantize a model</source>
        <translation>Quantifier un modèle</translation>
    </message>
    <message>
        <source>int8,integer,fast,vnni,amx,onnx,openvino,compress,optimize,model,road</source>
        <translation>int8,entier,rapide,vnni,amx,onnx,openvino,compresser,optimiser,modèle,route</translation>
    </message>
    <message>
        <source>Chips</source>
        <translation>Vignettes</translation>
    </message>
    <message>
        <source>Fraction of pixels with the same class</source>
        <translation>Part de pixels de même classe</translation>
    </message>
    <message>
        <source>IoU of the quantized model, with drawn roads</source>
        <translation>IoU du modèle quantifié, avec des routes dessinées</translation>
    </message>
    <message>
        <source>IoU in full precision, with drawn roads</source>
        <translation>IoU en pleine précision, avec des routes dessinées</translation>
    </message>
    <message>
        <source>APLS of the quantized model, with drawn roads</source>
        <translation>APLS du modèle quantifié, avec des routes dessinées</translation>
    </message>
    <message>
        <source>APLS in full precision, with drawn roads</source>
        <translation>APLS en pleine précision, avec des routes dessinées</translation>
    </message>
    <message>
        <source>Merge models</source>
        <translation>Fusionner des modèles</translation>
    </message>
    <message>
        <source>average,federated,fedavg,combine,share,offices,batch normalization,deep learning,model,road</source>
        <translation>moyenne,fédéré,fedavg,combiner,partager,bureaux,normalisation par lots,deep learning,modèle,route</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modèles</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Poids</translation>
    </message>
    <message>
        <source>Merged model</source>
        <translation>Modèle fusionné</translation>
    </message>
    <message>
        <source>Threshold of the merged model</source>
        <translation>Seuil du modèle fusionné</translation>
    </message>
    <message>
        <source>Measured image chips</source>
        <translation>Vignettes d'image mesurées</translation>
    </message>
    <message>
        <source>Make a scene</source>
        <translation>Générer une scène</translation>
    </message>
    <message>
        <source>demo,example,synthetic,generate,procedural,test,image,road</source>
        <translation>démo,exemple,synthétique,générer,procédural,test,image,route</translation>
    </message>
    <message>
        <source>Size (px)</source>
        <translation>Taille (px)</translation>
    </message>
    <message>
        <source>Layout</source>
        <translation>Plan des rues</translation>
    </message>
    <message>
        <source>Region</source>
        <translation>Région</translation>
    </message>
    <message>
        <source>Bit depth</source>
        <translation>Profondeur de bits</translation>
    </message>
    <message>
        <source>Roads</source>
        <translation>Routes</translation>
    </message>
    <message>
        <source>Number of lines</source>
        <translation>Nombre de lignes</translation>
    </message>
    <message>
        <source>Total length (m)</source>
        <translation>Longueur totale (m)</translation>
    </message>
    <message>
        <source>Segment roads</source>
        <translation>Segmenter les routes</translation>
    </message>
    <message>
        <source>mask,probability,predict,inference,classification,deep learning,road</source>
        <translation>masque,probabilité,prédire,inférence,classification,apprentissage profond,route</translation>
    </message>
    <message>
        <source>Ground resolution of web maps (m)</source>
        <translation>Résolution au sol des cartes web (m)</translation>
    </message>
    <message>
        <source>Road mask</source>
        <translation>Masque des routes</translation>
    </message>
    <message>
        <source>Megapixels per second</source>
        <translation>Mégapixels par seconde</translation>
    </message>
    <message>
        <source>Pixels computed per output pixel</source>
        <translation>Pixels calculés par pixel de sortie</translation>
    </message>
    <message>
        <source>Tile halo (px)</source>
        <translation>Marge de recouvrement des tuiles (px)</translation>
    </message>
    <message>
        <source>Vectorize roads</source>
        <translation>Vectoriser les routes</translation>
    </message>
    <message>
        <source>center-line,centerline,skeleton,network,graph,line,road</source>
        <translation>axe,ligne médiane,squelette,réseau,graphe,ligne,route</translation>
    </message>
    <message>
        <source>Road mask or probability</source>
        <translation>Masque ou probabilité des routes</translation>
    </message>
    <message>
        <source>Threshold areas</source>
        <translation>Zones à seuil propre</translation>
    </message>
    <message>
        <source>Spur length (m)</source>
        <translation>Longueur des antennes (m)</translation>
    </message>
    <message>
        <source>Longest gap (m)</source>
        <translation>Plus longue lacune (m)</translation>
    </message>
    <message>
        <source>Gap angle (degrees)</source>
        <translation>Angle aux lacunes (degrés)</translation>
    </message>
    <message>
        <source>Snap distance (m)</source>
        <translation>Distance d'accrochage (m)</translation>
    </message>
    <message>
        <source>Shortest component (m)</source>
        <translation>Plus courte composante (m)</translation>
    </message>
    <message>
        <source>Simplification (m)</source>
        <translation>Simplification (m)</translation>
    </message>
    <message>
        <source>Hysteresis</source>
        <translation>Hystérésis</translation>
    </message>
    <message>
        <source>Widest gap to close (m)</source>
        <translation>Plus large lacune à fermer (m)</translation>
    </message>
    <message>
        <source>Smallest hole (m²)</source>
        <translation>Plus petit trou (m²)</translation>
    </message>
    <message>
        <source>Smallest patch (m²)</source>
        <translation>Plus petite tache (m²)</translation>
    </message>
    <message>
        <source>Probability in gaps</source>
        <translation>Probabilité dans les lacunes</translation>
    </message>
    <message>
        <source>Longest likely gap (m)</source>
        <translation>Plus long vide probable (m)</translation>
    </message>
    <message>
        <source>Probability of links</source>
        <translation>Probabilité des liaisons</translation>
    </message>
    <message>
        <source>Longest unlikely dead end (m)</source>
        <translation>Plus longue impasse improbable (m)</translation>
    </message>
    <message>
        <source>Probability of dead ends</source>
        <translation>Probabilité des impasses</translation>
    </message>
    <message>
        <source>Driving side</source>
        <translation>Côté de conduite</translation>
    </message>
    <message>
        <source>Center lines on roads</source>
        <translation>Centrer les lignes sur les routes</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>Nœuds</translation>
    </message>
    <message>
        <source>Links</source>
        <translation>Liaisons</translation>
    </message>
    <message>
        <source>Likely breaks</source>
        <translation>Coupures probables</translation>
    </message>
    <message>
        <source>Extract roads</source>
        <translation>Extraire les routes</translation>
    </message>
    <message>
        <source>map,network,center-line,centerline,predict,deep learning,road</source>
        <translation>cartographier,réseau,axe,ligne médiane,prédire,apprentissage profond,route</translation>
    </message>
    <message>
        <source>Map a region</source>
        <translation>Cartographier une région</translation>
    </message>
    <message>
        <source>scenes,tiles,mosaic,district,country,cluster,dask,batch,network,center-line,mask,deep learning,road</source>
        <translation>scènes,tuiles,mosaïque,district,pays,cluster,dask,lot,réseau,axe,masque,apprentissage profond,route</translation>
    </message>
    <message>
        <source>Scenes</source>
        <translation>Scènes</translation>
    </message>
    <message>
        <source>Folder or index of scenes</source>
        <translation>Dossier ou index de scènes</translation>
    </message>
    <message>
        <source>Dates</source>
        <translation>Dates</translation>
    </message>
    <message>
        <source>Largest cloud cover (%)</source>
        <translation>Couverture nuageuse maximale (%)</translation>
    </message>
    <message>
        <source>Dask scheduler</source>
        <translation>Planificateur Dask</translation>
    </message>
    <message>
        <source>Workers</source>
        <translation>Processus de travail</translation>
    </message>
    <message>
        <source>Block size (px)</source>
        <translation>Taille des blocs (px)</translation>
    </message>
    <message>
        <source>Number of connected components</source>
        <translation>Nombre de composantes connexes</translation>
    </message>
    <message>
        <source>Number of scenes</source>
        <translation>Nombre de scènes</translation>
    </message>
    <message>
        <source>Scenes mapped in this run</source>
        <translation>Scènes cartographiées dans cette exécution</translation>
    </message>
    <message>
        <source>Scenes kept from an earlier run</source>
        <translation>Scènes reprises d'une exécution précédente</translation>
    </message>
    <message>
        <source>Number of failures</source>
        <translation>Nombre d'échecs</translation>
    </message>
    <message>
        <source>Scenes outside the area of interest</source>
        <translation>Scènes hors de la zone d'intérêt</translation>
    </message>
    <message>
        <source>Megapixels mapped</source>
        <translation>Mégapixels cartographiés</translation>
    </message>
    <message>
        <source>Line ends at seams without a counterpart</source>
        <translation>Extrémités de lignes aux jonctions sans équivalent</translation>
    </message>
    <message>
        <source>Index of scenes</source>
        <translation>Index des scènes</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Réseau routier</translation>
    </message>
    <message>
        <source>Get OpenStreetMap data</source>
        <translation>Obtenir des données OpenStreetMap</translation>
    </message>
    <message>
        <source>openstreetmap,osm,overpass,download,extract,highway,river,railway,label,before,line,road</source>
        <translation>openstreetmap,osm,overpass,télécharger,extrait,route,rivière,chemin de fer,étiquette,avant,ligne</translation>
    </message>
    <message>
        <source>OpenStreetMap file</source>
        <translation>Fichier OpenStreetMap</translation>
    </message>
    <message>
        <source>Overpass server</source>
        <translation>Serveur Overpass</translation>
    </message>
    <message>
        <source>Login for the server</source>
        <translation>Identifiants du serveur</translation>
    </message>
    <message>
        <source>Bridges</source>
        <translation>Ponts</translation>
    </message>
    <message>
        <source>Water</source>
        <translation>Eau</translation>
    </message>
    <message>
        <source>Railways</source>
        <translation>Voies ferrées</translation>
    </message>
    <message>
        <source>Runways</source>
        <translation>Pistes d'atterrissage</translation>
    </message>
    <message>
        <source>Places without a road</source>
        <translation>Endroits sans route</translation>
    </message>
    <message>
        <source>Downloaded file</source>
        <translation>Fichier téléchargé</translation>
    </message>
    <message>
        <source>Number of roads</source>
        <translation>Nombre de routes</translation>
    </message>
    <message>
        <source>Number of bridges</source>
        <translation>Nombre de ponts</translation>
    </message>
    <message>
        <source>Number of places without a road</source>
        <translation>Nombre d'endroits sans route</translation>
    </message>
    <message>
        <source>Attribution</source>
        <translation>Attribution</translation>
    </message>
    <message>
        <source>Clean road network</source>
        <translation>Nettoyer le réseau routier</translation>
    </message>
    <message>
        <source>topology,gap,snap,junction,dangle,network,graph,line,road</source>
        <translation>topologie,lacune,accrocher,carrefour,extrémité pendante,réseau,graphe,ligne,route</translation>
    </message>
    <message>
        <source>Lines</source>
        <translation>Lignes</translation>
    </message>
    <message>
        <source>Known bridges</source>
        <translation>Ponts connus</translation>
    </message>
    <message>
        <source>Bridge field of the lines</source>
        <translation>Champ des ponts des lignes</translation>
    </message>
    <message>
        <source>Join lines</source>
        <translation>Joindre les lignes</translation>
    </message>
    <message>
        <source>Joining distance (m)</source>
        <translation>Tolérance de jonction (m)</translation>
    </message>
    <message>
        <source>Junction merging distance (m)</source>
        <translation>Distance de fusion des carrefours (m)</translation>
    </message>
    <message>
        <source>Score a network</source>
        <translation>Noter un réseau routier</translation>
    </message>
    <message>
        <source>apls,topo,completeness,correctness,quality,accuracy,graph,compare,evaluate,line,road</source>
        <translation>apls,topo,complétude,correction,qualité,exactitude,graphe,comparer,évaluer,ligne,route</translation>
    </message>
    <message>
        <source>Proposed roads</source>
        <translation>Routes proposées</translation>
    </message>
    <message>
        <source>True roads</source>
        <translation>Routes de référence</translation>
    </message>
    <message>
        <source>Bridge field of the true roads</source>
        <translation>Champ des ponts des routes de référence</translation>
    </message>
    <message>
        <source>Bridge field of the proposed roads</source>
        <translation>Champ des ponts des routes proposées</translation>
    </message>
    <message>
        <source>Speed field of the true roads</source>
        <translation>Champ de vitesse des routes de référence</translation>
    </message>
    <message>
        <source>Speed field of the proposed roads</source>
        <translation>Champ de vitesse des routes proposées</translation>
    </message>
    <message>
        <source>Snap distance of APLS (m)</source>
        <translation>Distance d'accrochage d'APLS (m)</translation>
    </message>
    <message>
        <source>Tolerance of completeness (m)</source>
        <translation>Tolérance de la complétude (m)</translation>
    </message>
    <message>
        <source>Speed unit</source>
        <translation>Unité de vitesse</translation>
    </message>
    <message>
        <source>Tolerance of relaxed scores (m)</source>
        <translation>Tolérance des scores avec tolérance (m)</translation>
    </message>
    <message>
        <source>Control point spacing of APLS (m)</source>
        <translation>Espacement des points de contrôle d'APLS (m)</translation>
    </message>
    <message>
        <source>Radius of TOPO (m)</source>
        <translation>Rayon de TOPO (m)</translation>
    </message>
    <message>
        <source>Matching distance of TOPO (m)</source>
        <translation>Distance d'appariement de TOPO (m)</translation>
    </message>
    <message>
        <source>Seed spacing of TOPO (m)</source>
        <translation>Espacement des points de départ de TOPO (m)</translation>
    </message>
    <message>
        <source>Sampling interval of TOPO (m)</source>
        <translation>Pas d'échantillonnage de TOPO (m)</translation>
    </message>
    <message>
        <source>Matched, missed and false</source>
        <translation>Trouvées, manquées et fausses</translation>
    </message>
    <message>
        <source>APLS by length</source>
        <translation>APLS selon la longueur</translation>
    </message>
    <message>
        <source>APLS, truth onto proposal</source>
        <translation>APLS, de la référence vers la proposition</translation>
    </message>
    <message>
        <source>APLS, proposal onto truth</source>
        <translation>APLS, de la proposition vers la référence</translation>
    </message>
    <message>
        <source>APLS by travel time</source>
        <translation>APLS selon le temps de parcours</translation>
    </message>
    <message>
        <source>TOPO precision</source>
        <translation>Précision de TOPO</translation>
    </message>
    <message>
        <source>TOPO recall</source>
        <translation>Rappel de TOPO</translation>
    </message>
    <message>
        <source>TOPO F1</source>
        <translation>F1 de TOPO</translation>
    </message>
    <message>
        <source>Completeness</source>
        <translation>Complétude</translation>
    </message>
    <message>
        <source>Correctness</source>
        <translation>Correction</translation>
    </message>
    <message>
        <source>Quality</source>
        <translation>Qualité</translation>
    </message>
    <message>
        <source>Draw an accuracy sample</source>
        <translation>Tirer un échantillon d’exactitude</translation>
    </message>
    <message>
        <source>accuracy,sample,completeness,correctness,validate,review,quality,check,line,road</source>
        <translation>exactitude,échantillon,complétude,correction,valider,vérifier,qualité,ligne,route</translation>
    </message>
    <message>
        <source>Road network</source>
        <translation>Réseau routier</translation>
    </message>
    <message>
        <source>Number of places</source>
        <translation>Nombre de lieux</translation>
    </message>
    <message>
        <source>Length of transects (m)</source>
        <translation>Longueur des transects (m)</translation>
    </message>
    <message>
        <source>Length of stretches (m)</source>
        <translation>Longueur des tronçons (m)</translation>
    </message>
    <message>
        <source>Random seed</source>
        <translation>Graine aléatoire</translation>
    </message>
    <message>
        <source>Accuracy sample</source>
        <translation>Échantillon d’exactitude</translation>
    </message>
    <message>
        <source>Number of stretches</source>
        <translation>Nombre de tronçons</translation>
    </message>
    <message>
        <source>Number of transects</source>
        <translation>Nombre de transects</translation>
    </message>
    <message>
        <source>Length of the network (m)</source>
        <translation>Longueur du réseau (m)</translation>
    </message>
    <message>
        <source>Area (m²)</source>
        <translation>Surface (m²)</translation>
    </message>
    <message>
        <source>Check accuracy</source>
        <translation>Vérifier l’exactitude</translation>
    </message>
    <message>
        <source>accuracy,sample,completeness,correctness,confidence interval,validate,review,quality,report,road</source>
        <translation>exactitude,échantillon,complétude,correction,intervalle de confiance,valider,vérifier,qualité,rapport,route</translation>
    </message>
    <message>
        <source>Judged sample</source>
        <translation>Échantillon évalué</translation>
    </message>
    <message>
        <source>Accuracy</source>
        <translation>Exactitude</translation>
    </message>
    <message>
        <source>Completeness, lower limit</source>
        <translation>Complétude, limite inférieure</translation>
    </message>
    <message>
        <source>Completeness, upper limit</source>
        <translation>Complétude, limite supérieure</translation>
    </message>
    <message>
        <source>Correctness, lower limit</source>
        <translation>Correction, limite inférieure</translation>
    </message>
    <message>
        <source>Correctness, upper limit</source>
        <translation>Correction, limite supérieure</translation>
    </message>
    <message>
        <source>Judged places</source>
        <translation>Lieux évalués</translation>
    </message>
    <message>
        <source>Further places for 3 points</source>
        <translation>Lieux supplémentaires pour 3 points</translation>
    </message>
    <message>
        <source>Export a network for routing</source>
        <translation>Exporter un réseau pour le calcul d'itinéraires</translation>
    </message>
    <message>
        <source>openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,routing,shortest path,graph,network,line,road</source>
        <translation>openstreetmap,josm,osrm,valhalla,osmnx,networkx,graphml,itinéraire,plus court chemin,graphe,réseau,ligne,route</translation>
    </message>
    <message>
        <source>One-way field of the lines</source>
        <translation>Champ de sens unique des lignes</translation>
    </message>
    <message>
        <source>Class field of the lines</source>
        <translation>Champ de classe des lignes</translation>
    </message>
    <message>
        <source>Speed field of the lines</source>
        <translation>Champ de vitesse des lignes</translation>
    </message>
    <message>
        <source>Components to keep</source>
        <translation>Composantes à conserver</translation>
    </message>
    <message>
        <source>Reviewed roads only</source>
        <translation>Routes vérifiées seulement</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Graphe</translation>
    </message>
    <message>
        <source>Nodes and edges</source>
        <translation>Nœuds et arêtes</translation>
    </message>
    <message>
        <source>Number of nodes</source>
        <translation>Nombre de nœuds</translation>
    </message>
    <message>
        <source>Number of directed edges</source>
        <translation>Nombre d'arêtes orientées</translation>
    </message>
    <message>
        <source>Compare road networks</source>
        <translation>Comparer des réseaux routiers</translation>
    </message>
    <message>
        <source>change,damage,disaster,before,after,lost,detour,route,access,isolated,graph,line,road</source>
        <translation>changement,dégât,catastrophe,avant,après,perdu,détour,itinéraire,accès,isolé,graphe,ligne,route</translation>
    </message>
    <message>
        <source>Roads after</source>
        <translation>Routes après</translation>
    </message>
    <message>
        <source>Roads before</source>
        <translation>Routes avant</translation>
    </message>
    <message>
        <source>Places</source>
        <translation>Lieux</translation>
    </message>
    <message>
        <source>Origins</source>
        <translation>Origines</translation>
    </message>
    <message>
        <source>Confirmed damage</source>
        <translation>Dégâts confirmés</translation>
    </message>
    <message>
        <source>Name field of the places</source>
        <translation>Champ de nom des lieux</translation>
    </message>
    <message>
        <source>Name field of the origins</source>
        <translation>Champ de nom des origines</translation>
    </message>
    <message>
        <source>Bridge field of the roads before</source>
        <translation>Champ des ponts des routes avant</translation>
    </message>
    <message>
        <source>Bridge field of the roads after</source>
        <translation>Champ des ponts des routes après</translation>
    </message>
    <message>
        <source>Speed field of the roads before</source>
        <translation>Champ de vitesse des routes avant</translation>
    </message>
    <message>
        <source>Speed field of the roads after</source>
        <translation>Champ de vitesse des routes après</translation>
    </message>
    <message>
        <source>Largest displacement (m)</source>
        <translation>Plus grand déplacement (m)</translation>
    </message>
    <message>
        <source>Attaching distance (m)</source>
        <translation>Distance de raccordement (m)</translation>
    </message>
    <message>
        <source>Distance of places (m)</source>
        <translation>Distance d'accrochage des lieux (m)</translation>
    </message>
    <message>
        <source>Align</source>
        <translation>Aligner</translation>
    </message>
    <message>
        <source>Routes run on</source>
        <translation>Les itinéraires empruntent</translation>
    </message>
    <message>
        <source>Roads outside remain</source>
        <translation>Les routes extérieures restent</translation>
    </message>
    <message>
        <source>Shortest stretch (m)</source>
        <translation>Plus court tronçon (m)</translation>
    </message>
    <message>
        <source>Maximum angle (degrees)</source>
        <translation>Angle maximal (degrés)</translation>
    </message>
    <message>
        <source>Longer route (%)</source>
        <translation>Itinéraire plus long (%)</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Changements</translation>
    </message>
    <message>
        <source>Places and their routes</source>
        <translation>Lieux et leurs itinéraires</translation>
    </message>
    <message>
        <source>Statistics</source>
        <translation>Statistiques</translation>
    </message>
    <message>
        <source>Intact length (m)</source>
        <translation>Longueur intacte (m)</translation>
    </message>
    <message>
        <source>Intact fraction of the roads before</source>
        <translation>Part intacte des routes avant</translation>
    </message>
    <message>
        <source>Displaced length (m)</source>
        <translation>Longueur déplacée (m)</translation>
    </message>
    <message>
        <source>Displaced fraction of the roads before</source>
        <translation>Part déplacée des routes avant</translation>
    </message>
    <message>
        <source>Lost length (m)</source>
        <translation>Longueur perdue (m)</translation>
    </message>
    <message>
        <source>Lost fraction of the roads before</source>
        <translation>Part perdue des routes avant</translation>
    </message>
    <message>
        <source>New length (m)</source>
        <translation>Longueur nouvelle (m)</translation>
    </message>
    <message>
        <source>New fraction of the roads after</source>
        <translation>Part nouvelle des routes après</translation>
    </message>
    <message>
        <source>Eastward offset of the roads after (m)</source>
        <translation>Décalage vers l'est des routes après (m)</translation>
    </message>
    <message>
        <source>Northward offset of the roads after (m)</source>
        <translation>Décalage vers le nord des routes après (m)</translation>
    </message>
    <message>
        <source>Places cut off</source>
        <translation>Lieux coupés du réseau</translation>
    </message>
    <message>
        <source>Places with a route interrupted only by short gaps</source>
        <translation>Lieux dont l'itinéraire n'est interrompu que par de courtes lacunes</translation>
    </message>
    <message>
        <source>Places with a longer route</source>
        <translation>Lieux dont l'itinéraire est plus long</translation>
    </message>
    <message>
        <source>Places with an unchanged route</source>
        <translation>Lieux dont l'itinéraire est inchangé</translation>
    </message>
    <message>
        <source>State of known roads</source>
        <translation>État des routes connues</translation>
    </message>
    <message>
        <source>change,damage,disaster,event,flood,landslide,state,status,lost,blocked,bridge,access,isolated,check,report,before,after,line,road</source>
        <translation>changement,dégât,catastrophe,événement,inondation,glissement,état,statut,perdue,bloquée,pont,accès,isolé,vérifier,rapport,avant,après,ligne,route</translation>
    </message>
    <message>
        <source>Known roads</source>
        <translation>Routes connues</translation>
    </message>
    <message>
        <source>Image after</source>
        <translation>Image après</translation>
    </message>
    <message>
        <source>Further images after</source>
        <translation>Autres images après</translation>
    </message>
    <message>
        <source>Image before</source>
        <translation>Image avant</translation>
    </message>
    <message>
        <source>Hazards</source>
        <translation>Zones de danger</translation>
    </message>
    <message>
        <source>Clouds</source>
        <translation>Nuages</translation>
    </message>
    <message>
        <source>Sites</source>
        <translation>Sites</translation>
    </message>
    <message>
        <source>Districts</source>
        <translation>Districts</translation>
    </message>
    <message>
        <source>Class field</source>
        <translation>Champ de la classe</translation>
    </message>
    <message>
        <source>Name field of the sites</source>
        <translation>Champ de nom des sites</translation>
    </message>
    <message>
        <source>Name field of the districts</source>
        <translation>Champ de nom des districts</translation>
    </message>
    <message>
        <source>Bridge field of the known roads</source>
        <translation>Champ des ponts des routes connues</translation>
    </message>
    <message>
        <source>Near-infrared band</source>
        <translation>Bande du proche infrarouge</translation>
    </message>
    <message>
        <source>Distance of sites (m)</source>
        <translation>Distance d'accrochage des sites (m)</translation>
    </message>
    <message>
        <source>Reach (m)</source>
        <translation>Portée (m)</translation>
    </message>
    <message>
        <source>Roads with their state</source>
        <translation>Routes avec leur état</translation>
    </message>
    <message>
        <source>Sites and their paths</source>
        <translation>Sites et leurs chemins</translation>
    </message>
    <message>
        <source>Offset arrows</source>
        <translation>Flèches de décalage</translation>
    </message>
    <message>
        <source>Length that is seen (m)</source>
        <translation>Longueur visible (m)</translation>
    </message>
    <message>
        <source>Length that is partly seen (m)</source>
        <translation>Longueur partiellement visible (m)</translation>
    </message>
    <message>
        <source>Length that is not seen (m)</source>
        <translation>Longueur non visible (m)</translation>
    </message>
    <message>
        <source>Length under water (m)</source>
        <translation>Longueur sous l’eau (m)</translation>
    </message>
    <message>
        <source>Length in a hazard (m)</source>
        <translation>Longueur en zone de danger (m)</translation>
    </message>
    <message>
        <source>Hidden length (m)</source>
        <translation>Longueur masquée (m)</translation>
    </message>
    <message>
        <source>Length outside (m)</source>
        <translation>Longueur à l'extérieur (m)</translation>
    </message>
    <message>
        <source>Mean length of road that a site reaches before (m)</source>
        <translation>Longueur moyenne de route atteinte par un site avant (m)</translation>
    </message>
    <message>
        <source>Mean length of road that a site reaches after (m)</source>
        <translation>Longueur moyenne de route atteinte par un site après (m)</translation>
    </message>
    <message>
        <source>Sites cut off</source>
        <translation>Sites coupés du réseau</translation>
    </message>
    <message>
        <source>Apply a review</source>
        <translation>Appliquer une vérification</translation>
    </message>
    <message>
        <source>review,accept,reject,correct,merge,status,label,learn,training,line,road</source>
        <translation>vérification,accepter,rejeter,corriger,fusionner,statut,étiquette,apprendre,entraînement,ligne,route</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>Vérification</translation>
    </message>
    <message>
        <source>Other review</source>
        <translation>Autre vérification</translation>
    </message>
    <message>
        <source>Roads extracted anew</source>
        <translation>Routes extraites à nouveau</translation>
    </message>
    <message>
        <source>Reviewed roads</source>
        <translation>Routes vérifiées</translation>
    </message>
    <message>
        <source>Accepted stretches</source>
        <translation>Tronçons acceptés</translation>
    </message>
    <message>
        <source>Rejected stretches</source>
        <translation>Tronçons rejetés</translation>
    </message>
    <message>
        <source>Stretches with contradicting answers</source>
        <translation>Tronçons aux réponses contradictoires</translation>
    </message>
    <message>
        <source>Judged stretches on no line</source>
        <translation>Tronçons jugés qui ne sont sur aucune ligne</translation>
    </message>
    <message>
        <source>Length of lines that nobody judged (m)</source>
        <translation>Longueur des lignes non jugées (m)</translation>
    </message>
    <message>
        <source>Length of reviewed lines (m)</source>
        <translation>Longueur des lignes vérifiées (m)</translation>
    </message>
    <message>
        <source>Length of drawn lines (m)</source>
        <translation>Longueur des lignes tracées (m)</translation>
    </message>
    <message>
        <source>Make a MapRoulette challenge</source>
        <translation>Créer un défi MapRoulette</translation>
    </message>
    <message>
        <source>maproulette,openstreetmap,osm,task,challenge,mapper,check,change,break,geojson,road</source>
        <translation>maproulette,openstreetmap,osm,tâche,défi,contributeur,vérifier,changement,coupure,geojson,route</translation>
    </message>
    <message>
        <source>Changes, states or likely breaks</source>
        <translation>Changements, états ou coupures probables</translation>
    </message>
    <message>
        <source>Earlier challenge</source>
        <translation>Défi précédent</translation>
    </message>
    <message>
        <source>Extract of OpenStreetMap</source>
        <translation>Extrait d'OpenStreetMap</translation>
    </message>
    <message>
        <source>Displaced roads</source>
        <translation>Routes déplacées</translation>
    </message>
    <message>
        <source>Longest stretch (m)</source>
        <translation>Plus long tronçon (m)</translation>
    </message>
    <message>
        <source>Challenge</source>
        <translation>Défi</translation>
    </message>
    <message>
        <source>Number of tasks</source>
        <translation>Nombre de tâches</translation>
    </message>
    <message>
        <source>Tasks that keep an earlier id</source>
        <translation>Tâches qui gardent un identifiant précédent</translation>
    </message>
    <message>
        <source>Stretches left out as too short</source>
        <translation>Tronçons omis car trop courts</translation>
    </message>
    <message>
        <source>Export changes for OpenStreetMap</source>
        <translation>Exporter des changements pour OpenStreetMap</translation>
    </message>
    <message>
        <source>openstreetmap,osm,osc,osmchange,josm,conflation,new,missing,accepted,review,upload,line,road</source>
        <translation>openstreetmap,osm,osc,osmchange,josm,conflation,nouveau,manquant,accepté,révision,envoyer,ligne,route</translation>
    </message>
    <message>
        <source>Change file</source>
        <translation>Fichier de changements</translation>
    </message>
    <message>
        <source>New roads</source>
        <translation>Nouvelles routes</translation>
    </message>
    <message>
        <source>Places where new roads join ways of the extract</source>
        <translation>Endroits où de nouvelles routes rejoignent des chemins de l'extrait</translation>
    </message>
    <message>
        <source>Ways with a new node</source>
        <translation>Chemins avec un nouveau nœud</translation>
    </message>
    <message>
        <source>Length of the new roads (m)</source>
        <translation>Longueur des nouvelles routes (m)</translation>
    </message>
    <message>
        <source>Workflows</source>
        <translation>Chaînes de traitement</translation>
    </message>
    <message>
        <source>Find changes after an event</source>
        <translation>Trouver les changements après un événement</translation>
    </message>
    <message>
        <source>disaster,damage,flood,earthquake,before,after,change,lost,blocked,access,deep learning,workflow,road</source>
        <translation>catastrophe,dégât,inondation,séisme,avant,après,changement,perdu,bloqué,accès,apprentissage profond,chaîne de traitement,route</translation>
    </message>
    <message>
        <source>MapRoulette challenge</source>
        <translation>Défi MapRoulette</translation>
    </message>
    <message>
        <source>Fine-tune and map roads</source>
        <translation>Affiner un modèle et cartographier les routes</translation>
    </message>
    <message>
        <source>train,learn,model,map,network,center-line,centerline,deep learning,workflow,road</source>
        <translation>entraîner,apprendre,modèle,carte,réseau,axe,ligne médiane,apprentissage profond,chaîne de traitement,route</translation>
    </message>
    <message>
        <source>Learn from the review</source>
        <translation>Apprendre de la vérification</translation>
    </message>
    <message>
        <source>review,active learning,verdict,accept,reject,improve,fine-tune,train,extract,deep learning,workflow,road</source>
        <translation>vérification,apprentissage actif,verdict,accepter,rejeter,améliorer,affiner,entraîner,extraire,apprentissage profond,chaîne de traitement,route</translation>
    </message>
    <message>
        <source>Map roads with a model</source>
        <translation>Cartographier les routes avec un modèle</translation>
    </message>
    <message>
        <source>map,network,center-line,centerline,predict,probability,deep learning,workflow,road</source>
        <translation>carte,réseau,axe,ligne médiane,prédiction,probabilité,apprentissage profond,chaîne de traitement,route</translation>
    </message>
    <message>
        <source>Update OSM: find new and lost roads</source>
        <translation>Mettre OSM à jour : trouver les routes nouvelles et perdues</translation>
    </message>
    <message>
        <source>openstreetmap,change,difference,compare,missing,update,map,deep learning,workflow,road</source>
        <translation>openstreetmap,changement,différence,comparer,manquant,mise à jour,carte,apprentissage profond,chaîne de traitement,route</translation>
    </message>
    <message>
        <source>Trace road center-lines in the layer roads. In the layer aoi, add polygons in which every road is drawn. Save the edits of both layers, and run Fine-tune a model.</source>
        <translation>Tracez les axes des routes dans la couche roads. Ajoutez à la couche aoi des polygones dans lesquels toutes les routes sont dessinées. Enregistrez les modifications des deux couches, puis lancez Affiner un modèle.</translation>
    </message>
    <message>
        <source>The label layers are in a temporary file that QGIS deletes when it closes. Choose a file to keep them.</source>
        <translation>Les couches d'étiquettes sont dans un fichier temporaire, supprimé à la fermeture de QGIS. Choisissez un fichier pour les conserver.</translation>
    </message>
    <message>
        <source>the extent</source>
        <translation>l'emprise</translation>
    </message>
    <message>
        <source>Rectangle to get data of, such as the map's. An area of interest takes precedence. At most {area} km² are downloaded; of a file, any area is read.</source>
        <translation>Rectangle dont les données sont obtenues, comme celui de la carte. Une zone d'intérêt a priorité. Au plus {area} km² sont téléchargés ; d'un fichier, toute zone est lue.</translation>
    </message>
    <message>
        <source>Asking {server}</source>
        <translation>Interrogation de {server}</translation>
    </message>
    <message>
        <source>There is nothing for the layer {layer}.</source>
        <translation>Il n'y a rien pour la couche {layer}.</translation>
    </message>
    <message>
        <source>The report is {path}. Read it, and attach it to a new issue: {address}</source>
        <translation>Le rapport est {path}. Lisez-le et joignez-le à un nouveau signalement : {address}</translation>
    </message>
    <message>
        <source>Importing the packages of the runtime</source>
        <translation>Importation des paquets de l’environnement d’exécution</translation>
    </message>
    <message>
        <source>Text files (*.txt)</source>
        <translation>Fichiers texte (*.txt)</translation>
    </message>
    <message>
        <source>RoadSeg's runtime is {python}: {version}</source>
        <translation>L'environnement d'exécution de RoadSeg est {python} : {version}</translation>
    </message>
    <message>
        <source>Fine-tune a model, then extract roads. All parameters are filled in.</source>
        <translation>Affinez un modèle, puis extrayez les routes. Tous les paramètres sont remplis.</translation>
    </message>
    <message>
        <source>RoadSeg generates a scene on which you can try it. This takes less than a minute.</source>
        <translation>RoadSeg génère une scène pour l'essayer. Cela prend moins d'une minute.</translation>
    </message>
    <message>
        <source>Fine-tune a model…</source>
        <translation>Affiner un modèle…</translation>
    </message>
    <message>
        <source>RoadSeg is generating the scene. The status bar shows the progress.</source>
        <translation>RoadSeg génère la scène. La barre d'état montre l'avancement.</translation>
    </message>
    <message>
        <source>{folder} cannot be created ({reason}).</source>
        <translation>{folder} ne peut pas être créé ({reason}).</translation>
    </message>
    <message>
        <source>Set up runtime…</source>
        <translation>Installer l'environnement d'exécution…</translation>
    </message>
    <message>
        <source>Install {packages}</source>
        <translation>Installer {packages}</translation>
    </message>
    <message>
        <source>Roads found in imagery: check them on the ground.</source>
        <translation>Routes trouvées sur des images : à vérifier sur le terrain.</translation>
    </message>
    <message>
        <source>Field sheet</source>
        <translation>Feuille de terrain</translation>
    </message>
    <message>
        <source>To check:</source>
        <translation>À vérifier :</translation>
    </message>
    <message>
        <source>Ready to extract the roads of a satellite layer.</source>
        <translation>Prêt à extraire les routes d’une couche satellite.</translation>
    </message>
    <message>
        <source>The map does not show an image. Add a satellite layer first.</source>
        <translation>La carte ne montre aucune image. Ajoutez d’abord une couche satellite.</translation>
    </message>
    <message>
        <source>Extract roads in this view</source>
        <translation>Extraire les routes de cette vue</translation>
    </message>
    <message>
        <source>F1 on held-out blocks</source>
        <translation>F1 sur les blocs réservés</translation>
    </message>
    <message>
        <source>F1 {f1:.2f} on held-out blocks</source>
        <translation>F1 {f1:.2f} sur les blocs réservés</translation>
    </message>
    <message>
        <source>F1 on held-out blocks: {f1:.2f}</source>
        <translation>F1 sur les blocs réservés : {f1:.2f}</translation>
    </message>
    <message>
        <source>Choose an image</source>
        <translation>Choisir une image</translation>
    </message>
    <message>
        <source>Starter model</source>
        <translation>Modèle de départ</translation>
    </message>
    <message>
        <source>Create new layers</source>
        <translation>Créer de nouvelles couches</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Aucune</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. The model keeps everything that it learned from the layer. Choose another layer for drawing.</source>
        <translation>La couche {layer} a été retirée. Le modèle garde tout ce qu'il en a appris. Choisissez une autre couche pour dessiner.</translation>
    </message>
    <message>
        <source>{count} drawn features of the session are missing from the layers: QGIS may have ended before they were saved.</source>
        <translation>{count} objets dessinés de la session ne sont pas dans les couches : QGIS s'est peut-être arrêté avant leur enregistrement.</translation>
    </message>
    <message>
        <source>Not started</source>
        <translation>Non démarré</translation>
    </message>
    <message>
        <source>Choose an image, and press Start.</source>
        <translation>Choisissez une image et appuyez sur Démarrer.</translation>
    </message>
    <message>
        <source>Rendering</source>
        <translation>Rendu</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>Chargement</translation>
    </message>
    <message>
        <source>The worker is starting and reading the model.</source>
        <translation>Le processus de calcul démarre et lit le modèle.</translation>
    </message>
    <message>
        <source>Your drawn features are in your layers. The model is kept as of its last checkpoint.</source>
        <translation>Vos objets dessinés sont dans vos couches. Le modèle est conservé dans l'état de son dernier point de contrôle.</translation>
    </message>
    <message>
        <source>Put them back</source>
        <translation>Les remettre</translation>
    </message>
    <message>
        <source>Where to store the labels</source>
        <translation>Où conserver ce qui est dessiné</translation>
    </message>
    <message>
        <source>Creating label layers</source>
        <translation>Création des couches d'étiquettes</translation>
    </message>
    <message>
        <source>Choose an image: a raster layer of the project.</source>
        <translation>Choisissez une image : une couche raster du projet.</translation>
    </message>
    <message>
        <source>The image of the last session is not in this project. Add it, choose it and press Start.</source>
        <translation>L'image de la dernière session n'est pas dans ce projet. Ajoutez-la, choisissez-la et appuyez sur Démarrer.</translation>
    </message>
    <message>
        <source>Continuing</source>
        <translation>Reprise</translation>
    </message>
    <message>
        <source>Pausing</source>
        <translation>Mise en pause</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Arrêté</translation>
    </message>
    <message>
        <source>The image was not rendered completely.</source>
        <translation>L'image n'a pas été rendue jusqu'au bout.</translation>
    </message>
    <message>
        <source>Ended</source>
        <translation>Terminé</translation>
    </message>
    <message>
        <source>Resume continues with the learned model.</source>
        <translation>Reprendre continue avec ce qui a été appris.</translation>
    </message>
    <message>
        <source>Save the edits</source>
        <translation>Enregistrer les modifications</translation>
    </message>
    <message>
        <source>The visible part of {layer} is being rendered.</source>
        <translation>La partie visible de {layer} est en cours de rendu.</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Continuer</translation>
    </message>
    <message>
        <source>These layers have unsaved edits: {layers}.</source>
        <translation>Ce qui a été dessiné n'est pas encore enregistré : {layers}.</translation>
    </message>
    <message>
        <source>Stopping</source>
        <translation>Arrêt en cours</translation>
    </message>
    <message>
        <source>The current step is being finished and the model is being written.</source>
        <translation>L'étape en cours se termine et le modèle est écrit.</translation>
    </message>
    <message>
        <source>Put back</source>
        <translation>Remis</translation>
    </message>
    <message>
        <source>The image {layer} was removed. The session ends.</source>
        <translation>L'image {layer} a été retirée. La session se termine.</translation>
    </message>
    <message>
        <source>Accept the link</source>
        <translation>Accepter la liaison</translation>
    </message>
    <message>
        <source>Choose a polygon layer for places without a road. Create label layers makes one.</source>
        <translation>Choisissez une couche de polygones pour les endroits sans route. « Créer des couches d'étiquettes » en crée une.</translation>
    </message>
    <message>
        <source>This place is not on the image. Click within the image.</source>
        <translation>Cet endroit n'est pas sur l'image. Cliquez dans l'image.</translation>
    </message>
    <message>
        <source>There is nothing to correct at this place.</source>
        <translation>Il n'y a rien à corriger à cet endroit.</translation>
    </message>
    <message>
        <source>Choose a layer of drawn roads. The link is added to it.</source>
        <translation>Choisissez une couche de routes dessinées. La liaison y est ajoutée.</translation>
    </message>
    <message>
        <source>Keep this model</source>
        <translation>Conserver ce modèle</translation>
    </message>
    <message>
        <source>The session ended before the model was kept. Resume the session, then keep the model.</source>
        <translation>La session s'est terminée avant que le modèle soit conservé. Reprenez la session, puis conservez le modèle.</translation>
    </message>
    <message>
        <source>Map all…</source>
        <translation>Tout cartographier…</translation>
    </message>
    <message>
        <source>The model is in {model}.</source>
        <translation>Le modèle est dans {model}.</translation>
    </message>
    <message>
        <source>The model is in {model}. F1 on held-out blocks is {f1:.2f}.</source>
        <translation>Le modèle est dans {model}. F1 sur les blocs réservés est de {f1:.2f}.</translation>
    </message>
    <message>
        <source>Its training labels are in {labels}.</source>
        <translation>Ce dont il a appris est dans {labels}.</translation>
    </message>
    <message>
        <source>RoadSeg live: rendering {layer}</source>
        <translation>RoadSeg live : rendu de {layer}</translation>
    </message>
    <message>
        <source>RoadSeg live: creating a layer for places without a road</source>
        <translation>RoadSeg live : création d'une couche pour les endroits sans route</translation>
    </message>
    <message>
        <source>{path} cannot be written.</source>
        <translation>{path} ne peut pas être écrit.</translation>
    </message>
    <message>
        <source>The layer {layer} has no coordinate reference system. The image's is assumed.</source>
        <translation>La couche {layer} n'a pas de système de coordonnées. Celui de l'image est supposé.</translation>
    </message>
    <message>
        <source>Features of the layer {layer} cannot be transformed to the image's CRS and are left out.</source>
        <translation>Des objets de la couche {layer} ne peuvent pas être transformés dans le SCR de l'image et sont ignorés.</translation>
    </message>
    <message>
        <source>Some road widths in the layer {layer} are not numbers. These roads get the common width.</source>
        <translation>Certaines largeurs de route de la couche {layer} ne sont pas des nombres. Ces routes reçoivent la largeur commune.</translation>
    </message>
    <message>
        <source>Road probability, live</source>
        <translation>Probabilité de route, en direct</translation>
    </message>
    <message>
        <source>Uncertainty, live</source>
        <translation>Incertitude, en direct</translation>
    </message>
    <message>
        <source>RoadSeg live</source>
        <translation>RoadSeg live</translation>
    </message>
    <message>
        <source>Uncertainty</source>
        <translation>Incertitude</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Démarrer</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pause</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Arrêter</translation>
    </message>
    <message>
        <source>Resume the last session</source>
        <translation>Reprendre la dernière session</translation>
    </message>
    <message>
        <source>Keep this model…</source>
        <translation>Conserver ce modèle…</translation>
    </message>
    <message>
        <source>Correct by clicks</source>
        <translation>Corriger par clics</translation>
    </message>
    <message>
        <source>Click on a false road to mark “no road here”. Click on a gap to turn the proposed link into a road.</source>
        <translation>Cliquez sur une fausse route pour marquer « pas de route ici ». Cliquez sur une lacune pour transformer la liaison proposée en route.</translation>
    </message>
    <message>
        <source>Draw next, where the model is most uncertain:</source>
        <translation>Dessinez ensuite là où le modèle est le plus incertain :</translation>
    </message>
    <message>
        <source>Stop now</source>
        <translation>Arrêter maintenant</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Afficher</translation>
    </message>
    <message>
        <source>Waiting for labels</source>
        <translation>En attente d'étiquettes</translation>
    </message>
    <message>
        <source>Learning</source>
        <translation>Apprentissage</translation>
    </message>
    <message>
        <source>Predicting</source>
        <translation>Prédiction</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>En pause</translation>
    </message>
    <message>
        <source>Nothing new to learn</source>
        <translation>Rien de nouveau à apprendre</translation>
    </message>
    <message>
        <source>Draw a road with QGIS' own tools.</source>
        <translation>Dessinez une route avec les outils de QGIS.</translation>
    </message>
    <message>
        <source>Draw where the map is wrong.</source>
        <translation>Dessinez là où la carte se trompe.</translation>
    </message>
    <message>
        <source>Roads drawn: {count}</source>
        <translation>Routes dessinées : {count}</translation>
    </message>
    <message>
        <source>Place {number}</source>
        <translation>Endroit {number}</translation>
    </message>
    <message>
        <source>Step {step:,}</source>
        <translation>Étape {step:,}</translation>
    </message>
    <message>
        <source>Last stroke learned after {seconds:.1f} s</source>
        <translation>Dernier trait appris après {seconds:.1f} s</translation>
    </message>
    <message>
        <source>{rate:.1f} steps per second</source>
        <translation>{rate:.1f} étapes par seconde</translation>
    </message>
    <message>
        <source>Trace roads</source>
        <translation>Tracer des routes</translation>
    </message>
    <message>
        <source>Try it on a generated scene</source>
        <translation>Essayer sur une scène générée</translation>
    </message>
    <message>
        <source>Field sheet…</source>
        <translation>Feuille de terrain…</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Paramètres…</translation>
    </message>
    <message>
        <source>Runtime: {status}…</source>
        <translation>Environnement d'exécution : {status}…</translation>
    </message>
    <message>
        <source>The project has no road probability.</source>
        <translation>Le projet n'a aucune probabilité de route.</translation>
    </message>
    <message>
        <source>Run Segment roads or Extract roads with a road probability, and add it to the project.</source>
        <translation>Exécutez « Segmenter les routes » ou « Extraire les routes » avec une probabilité de route, et ajoutez-la au projet.</translation>
    </message>
    <message>
        <source>The review is complete: {accepted} accepted, {rejected} rejected.</source>
        <translation>La vérification est terminée : {accepted} acceptés, {rejected} rejetés.</translation>
    </message>
    <message>
        <source>The layer has no lines of a kind that is reviewed, so there is nothing to review.</source>
        <translation>La couche n’a aucune ligne d’un type à vérifier : il n’y a donc rien à vérifier.</translation>
    </message>
    <message>
        <source>Some lines were deleted in the meantime. They are left out.</source>
        <translation>Certaines lignes ont été supprimées entre-temps. Elles sont laissées de côté.</translation>
    </message>
    <message>
        <source>&lt;b&gt;New road&lt;/b&gt;, {length}. Accept if the image shows a road here.</source>
        <translation>&lt;b&gt;Route nouvelle&lt;/b&gt;, {length}. Acceptez si l'image montre une route ici.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Lost road&lt;/b&gt;, {length}. Accept if the image shows that the road no longer exists.</source>
        <translation>&lt;b&gt;Route perdue&lt;/b&gt;, {length}. Acceptez si l'image montre que la route n'existe plus.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Displaced road&lt;/b&gt;, {length}. Accept if the image shows the road beside the line.</source>
        <translation>&lt;b&gt;Route déplacée&lt;/b&gt;, {length}. Acceptez si l'image montre la route à côté de la ligne.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Road&lt;/b&gt;, {length}. Accept if the image shows a road here.</source>
        <translation>&lt;b&gt;Route&lt;/b&gt;, {length}. Accepter si l’image montre ici une route.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Sampled road&lt;/b&gt;, {length}. Accept if most of it lies on a road.</source>
        <translation>&lt;b&gt;Route de l’échantillon&lt;/b&gt;, {length}. Accepter si la plus grande partie se trouve sur une route.</translation>
    </message>
    <message>
        <source>&lt;b&gt;Transect&lt;/b&gt;, {length}. How many roads cross it that the network lacks?</source>
        <translation>&lt;b&gt;Transect&lt;/b&gt;, {length}. Combien de routes le croisent qui manquent au réseau ?</translation>
    </message>
    <message>
        <source>The layer is being edited. Save or discard its edits to continue the review.</source>
        <translation>La couche est en cours d'édition. Enregistrez ou abandonnez ses modifications pour continuer la vérification.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. The review has ended.</source>
        <translation>La couche {layer} a été retirée. La vérification est terminée.</translation>
    </message>
    <message>
        <source>The line was reviewed elsewhere in the meantime. Its answer stays.</source>
        <translation>La ligne a été vérifiée ailleurs entre-temps. Sa réponse reste.</translation>
    </message>
    <message>
        <source>The review is complete. Run Apply a review to get the network without the rejected parts.</source>
        <translation>La vérification est terminée. « Appliquer une vérification » écrit le réseau sans ce qui a été rejeté.</translation>
    </message>
    <message>
        <source>Roads are hardly visible at this scale. Zoom in to at least 1:{scale} to accept a view.</source>
        <translation>À cette échelle, on voit à peine les routes. Zoomez au moins jusqu’à 1:{scale} pour accepter une vue.</translation>
    </message>
    <message>
        <source>There is no line under the brush.</source>
        <translation>Il n’y a aucune ligne sous le pinceau.</translation>
    </message>
    <message>
        <source>Lines in this view without a verdict: &lt;b&gt;{count}&lt;/b&gt;. Click each wrong line, or paint along its wrong part. Trace each missing road. Then accept the rest of the view.</source>
        <translation>Lignes de cette vue sans verdict : &lt;b&gt;{count}&lt;/b&gt;. Cliquez sur une ligne fausse, ou peignez le long de sa partie fausse. Tracez les routes manquantes. Puis acceptez : le reste de la vue est juste.</translation>
    </message>
    <message>
        <source>Save it as a GeoPackage (Make Permanent or Export in its menu), and review that layer.</source>
        <translation>Enregistrez-la en GeoPackage (Rendre permanente ou Exporter dans son menu), et vérifiez cette couche.</translation>
    </message>
    <message>
        <source>Rename the file.</source>
        <translation>Renommez le fichier.</translation>
    </message>
    <message>
        <source>Copy the network to a folder in which you can write.</source>
        <translation>Copiez le réseau dans un dossier où vous pouvez écrire.</translation>
    </message>
    <message>
        <source>The review cannot be written to {path} ({reason}).</source>
        <translation>La vérification ne peut pas être écrite dans {path} ({reason}).</translation>
    </message>
    <message>
        <source>The layer {layer} has no file, so its review cannot be written beside it.</source>
        <translation>La couche {layer} n’est dans aucun fichier à côté duquel sa vérification pourrait être écrite.</translation>
    </message>
    <message>
        <source>Review of {layer}</source>
        <translation>Vérification de {layer}</translation>
    </message>
    <message>
        <source>{path} is not the review of this network.</source>
        <translation>{path} n’est pas la vérification de ce réseau.</translation>
    </message>
    <message>
        <source>Select a road network, changes or an accuracy sample, and choose Review.</source>
        <translation>Sélectionnez un réseau routier, des changements ou un échantillon d’exactitude, puis choisissez Vérification.</translation>
    </message>
    <message>
        <source>{reviewed} of {total} reviewed, {left} left</source>
        <translation>{reviewed} sur {total} vérifiés, {left} restants</translation>
    </message>
    <message>
        <source>Accept</source>
        <translation>Accepter</translation>
    </message>
    <message>
        <source>Reject</source>
        <translation>Rejeter</translation>
    </message>
    <message>
        <source>Skip</source>
        <translation>Passer</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Retour</translation>
    </message>
    <message>
        <source>Zoom to the line</source>
        <translation>Zoomer sur la ligne</translation>
    </message>
    <message>
        <source>Trace a missing road</source>
        <translation>Tracer une route manquante</translation>
    </message>
    <message>
        <source>Learn from the review…</source>
        <translation>Apprendre de la vérification…</translation>
    </message>
    <message>
        <source>Select a road network, or the result of Compare road networks or Draw an accuracy sample.</source>
        <translation>Sélectionnez un réseau routier, ou le résultat de « Comparer des réseaux routiers » ou de « Tirer un échantillon de précision ».</translation>
    </message>
    <message>
        <source>This layer is temporary, so its review can be lost. Save the layer with Make Permanent in its menu.</source>
        <translation>Cette couche est temporaire : sa vérification peut être perdue. Enregistrez la couche par « Convertir en couche permanente » dans son menu.</translation>
    </message>
    <message>
        <source>The layer {layer} is not a review layer: it needs lines with the field “{field}”.</source>
        <translation>La couche {layer} n’est pas une couche de vérification : il lui faut des lignes avec le champ « {field} ».</translation>
    </message>
    <message>
        <source>No layer is selected.</source>
        <translation>Aucune couche n'est sélectionnée.</translation>
    </message>
    <message>
        <source>Export the layer to a GeoPackage (its menu, Export), and review the new layer.</source>
        <translation>Exportez la couche dans un GeoPackage (son menu, Exporter), et vérifiez la nouvelle couche.</translation>
    </message>
    <message>
        <source>Rename the field, so that the review gets its own field.</source>
        <translation>Renommez le champ, pour que la vérification ait son propre champ.</translation>
    </message>
    <message>
        <source>Close other programs that use its file, and make room on the disk.</source>
        <translation>Fermez les autres programmes qui utilisent son fichier, et libérez de la place sur le disque.</translation>
    </message>
    <message>
        <source>The layer {layer} is read-only, so the review cannot be written to it.</source>
        <translation>La couche {layer} est en lecture seule : la vérification ne peut pas y être écrite.</translation>
    </message>
    <message>
        <source>The field “{field}” of the layer {layer} is not a text field.</source>
        <translation>Le champ « {field} » de la couche {layer} n'est pas un champ de texte.</translation>
    </message>
    <message>
        <source>The review cannot be written to the layer {layer} ({reason}).</source>
        <translation>La vérification ne peut pas être écrite dans la couche {layer} ({reason}).</translation>
    </message>
    <message>
        <source>&lt;b&gt;{name}&lt;/b&gt; {value}, 95 % interval {low} to {high}</source>
        <translation>&lt;b&gt;{name}&lt;/b&gt; {value}, intervalle à 95 % : de {low} à {high}</translation>
    </message>
    <message>
        <source>About {more} more places would give ±{margin} points; {left} are left.</source>
        <translation>Environ {more} lieux de plus donneraient ±{margin} points ; il en reste {left}.</translation>
    </message>
    <message>
        <source>Places to judge before the first estimate: {count}</source>
        <translation>Lieux à juger avant la première estimation : {count}</translation>
    </message>
    <message>
        <source>Both are known to ±{margin} points. &lt;b&gt;Enough: you can stop.&lt;/b&gt;</source>
        <translation>Les deux sont connues à ±{margin} points. &lt;b&gt;Assez : vous pouvez arrêter.&lt;/b&gt;</translation>
    </message>
    <message>
        <source>The layer says nothing of the accuracy. {reason}</source>
        <translation>La couche ne dit rien de la précision. {reason}</translation>
    </message>
    <message>
        <source>This computer was suspended for {minutes} min. The session continues.</source>
        <translation>Cet ordinateur a été en veille pendant {minutes} min. La session continue.</translation>
    </message>
    <message>
        <source>Python</source>
        <translation>Python</translation>
    </message>
    <message>
        <source>RoadSeg's own runtime</source>
        <translation>Environnement d'exécution propre à RoadSeg</translation>
    </message>
    <message>
        <source>Models folder</source>
        <translation>Dossier des modèles</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>Aucun dossier</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatique</translation>
    </message>
    <message>
        <source>The Python environment in which RoadSeg computes. Set up runtime builds it. Choose another one only if it has all packages.</source>
        <translation>L'environnement Python dans lequel RoadSeg calcule. « Installer l'environnement d'exécution » le crée. N'en choisissez un autre que s'il a tous les paquets.</translation>
    </message>
    <message>
        <source>Resources</source>
        <translation>Ressources</translation>
    </message>
    <message>
        <source>These apply if an algorithm's own threads and memory are 0, and its device is auto.</source>
        <translation>Ils s'appliquent si les threads et la mémoire de l'algorithme sont à 0 et si son périphérique est auto.</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Fichiers</translation>
    </message>
    <message>
        <source>Dialogs start with the newest model in this folder. For a model to write, they propose a new name in it.</source>
        <translation>Les dialogues commencent par le modèle le plus récent de ce dossier. Pour un modèle à écrire, ils y proposent un nouveau nom.</translation>
    </message>
    <message>
        <source>All ({count})</source>
        <translation>Tous ({count})</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>État</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Mémoire</translation>
    </message>
    <message>
        <source>The environment variable {name} is set and takes precedence.</source>
        <translation>La variable d'environnement {name} est définie et a la priorité.</translation>
    </message>
    <message>
        <source>Road probability to choose a threshold for:</source>
        <translation>Probabilité de route pour laquelle choisir un seuil :</translation>
    </message>
    <message>
        <source>The lines of the whole raster are being extracted in the background.</source>
        <translation>Les lignes de tout le raster sont extraites en arrière-plan.</translation>
    </message>
    <message>
        <source>The lines of the whole raster are in the project.</source>
        <translation>Les lignes de tout le raster sont dans le projet.</translation>
    </message>
    <message>
        <source>Zoom in to see the lines.</source>
        <translation>Zoomez pour voir les lignes.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed.</source>
        <translation>La couche {layer} a été supprimée.</translation>
    </message>
    <message>
        <source>More roads here</source>
        <translation>Plus de routes ici</translation>
    </message>
    <message>
        <source>Fewer roads here</source>
        <translation>Moins de routes ici</translation>
    </message>
    <message>
        <source>Undo last area</source>
        <translation>Annuler la dernière zone</translation>
    </message>
    <message>
        <source>Extract all lines</source>
        <translation>Extraire toutes les lignes</translation>
    </message>
    <message>
        <source>Use this threshold for</source>
        <translation>Utiliser ce seuil pour</translation>
    </message>
    <message>
        <source>Minimum probability of a road pixel</source>
        <translation>Probabilité minimale d'un pixel de route</translation>
    </message>
    <message>
        <source>Opens a dialog in which the advanced parameter Threshold is filled in</source>
        <translation>Ouvre une boîte de dialogue dans laquelle le paramètre avancé Seuil est rempli</translation>
    </message>
    <message>
        <source>Drag around a part of the map, or across it for a rectangle.</source>
        <translation>Entourez une partie de la carte en maintenant le bouton de la souris, ou traversez-la pour un rectangle.</translation>
    </message>
    <message>
        <source>Select a road probability, and choose Threshold.</source>
        <translation>Sélectionnez une probabilité de route et choisissez Seuil.</translation>
    </message>
    <message>
        <source>Road probability along which roads are traced:</source>
        <translation>Probabilité de route le long de laquelle les routes sont tracées :</translation>
    </message>
    <message>
        <source>The layer {layer} cannot be saved ({reason}).</source>
        <translation>La couche {layer} ne peut pas être enregistrée ({reason}).</translation>
    </message>
    <message>
        <source>Move the map to where it lies, or choose Trace roads again for another one.</source>
        <translation>Déplacez la carte là où elle se trouve, ou choisissez à nouveau « Tracer des routes » pour une autre.</translation>
    </message>
    <message>
        <source>The layer {layer} is no longer being edited. Tracing has ended.</source>
        <translation>La couche {layer} n'est plus en cours d'édition. Le tracé est terminé.</translation>
    </message>
    <message>
        <source>The road probability {layer} does not cover this part of the map.</source>
        <translation>La probabilité de route {layer} ne couvre pas cette partie de la carte.</translation>
    </message>
    <message>
        <source>The layer {layer} was removed. Tracing has ended.</source>
        <translation>La couche {layer} a été retirée. Le tracé est terminé.</translation>
    </message>
    <message>
        <source>{reason} Tracing has ended.</source>
        <translation>{reason} Le tracé est terminé.</translation>
    </message>
    <message>
        <source>Select the line layer in which the roads are to be drawn.</source>
        <translation>Sélectionnez la couche de lignes dans laquelle les routes doivent être dessinées.</translation>
    </message>
    <message>
        <source>Trace road</source>
        <translation>Tracer une route</translation>
    </message>
    <message>
        <source>Draw it by hand.</source>
        <translation>Dessinez-la à la main.</translation>
    </message>
    <message>
        <source>Export the layer to a GeoPackage (its menu, Export), and draw in the new layer.</source>
        <translation>Exportez la couche dans un GeoPackage (son menu, Exporter), et dessinez dans la nouvelle couche.</translation>
    </message>
    <message>
        <source>Switch its editing on (Toggle Editing), and choose Trace roads again.</source>
        <translation>Passez-la en mode édition (Basculer en mode édition), et choisissez de nouveau « Tracer des routes ».</translation>
    </message>
    <message>
        <source>The layer {layer} did not accept the road.</source>
        <translation>La couche {layer} n'a pas accepté la route.</translation>
    </message>
    <message>
        <source>The layer {layer} has no lines.</source>
        <translation>La couche {layer} n'a pas de lignes.</translation>
    </message>
    <message>
        <source>The layer {layer} is read-only, so no roads can be drawn in it.</source>
        <translation>La couche {layer} est en lecture seule : aucune route ne peut y être dessinée.</translation>
    </message>
    <message>
        <source>The layer {layer} is not being edited.</source>
        <translation>La couche {layer} n'est pas en cours d'édition.</translation>
    </message>
    <message>
        <source>Generated scene</source>
        <translation>Scène générée</translation>
    </message>
    <message>
        <source>RoadSeg demo</source>
        <translation>Démo de RoadSeg</translation>
    </message>
    <message>
        <source>(no class)</source>
        <translation>(aucune classe)</translation>
    </message>
    <message>
        <source>Road class</source>
        <translation>Classe de route</translation>
    </message>
    <message>
        <source>Width (m)</source>
        <translation>Largeur (m)</translation>
    </message>
    <message>
        <source>Sure that it is a road</source>
        <translation>Certain que c'est une route</translation>
    </message>
    <message>
        <source>Fields were renamed in {layer}: {renamed}</source>
        <translation>Des champs ont été renommés dans {layer} : {renamed}</translation>
    </message>
    <message>
        <source>The style file next to {file} cannot be written ({reason}).</source>
        <translation>Le style ne peut pas être écrit à côté de {file} ({reason}).</translation>
    </message>
    <message>
        <source>Further lines of output are omitted.</source>
        <translation>Les lignes de sortie suivantes sont omises.</translation>
    </message>
    <message>
        <source>{reason} It is asked once more in {seconds} s.</source>
        <translation>{reason} Une nouvelle demande suit dans {seconds} s.</translation>
    </message>
    <message>
        <source>The answer of {server} is of no use: {fault}.</source>
        <translation>La réponse de {server} est inutilisable : {fault}.</translation>
    </message>
    <message>
        <source>{server} cannot be reached: {reason}.</source>
        <translation>{server} est injoignable : {reason}.</translation>
    </message>
    <message>
        <source>{server} is busy (HTTP {status}).</source>
        <translation>{server} est occupé (HTTP {status}).</translation>
    </message>
    <message>
        <source>{server} sent nothing for {seconds} s.</source>
        <translation>{server} n'a rien envoyé pendant {seconds} s.</translation>
    </message>
    <message>
        <source>{server} refuses (HTTP {status}).</source>
        <translation>{server} refuse (HTTP {status}).</translation>
    </message>
    <message>
        <source>settings</source>
        <translation>paramètres</translation>
    </message>
    <message>
        <source>ready ({packages})</source>
        <translation>prêt ({packages})</translation>
    </message>
    <message>
        <source>missing ({packages})</source>
        <translation>absent ({packages})</translation>
    </message>
    <message>
        <source>of another version of RoadSeg</source>
        <translation>d'une autre version de RoadSeg</translation>
    </message>
    <message>
        <source>missing</source>
        <translation>absent</translation>
    </message>
    <message>
        <source>The setting {key} is {value}, which is beyond its limits. {taken} is used instead.</source>
        <translation>Le réglage {key} vaut {value}, hors de ses limites. {taken} est utilisé à la place.</translation>
    </message>
    <message>
        <source>The setting {key} is {text}, which is no device. The setting is ignored.</source>
        <translation>Le réglage {key} vaut {text}, qui n'est pas un périphérique. Le réglage est ignoré.</translation>
    </message>
    <message>
        <source>{path} is not an executable file. Choose a Python interpreter, or leave the field empty.</source>
        <translation>{path} n'est pas un fichier exécutable. Choisissez un interpréteur Python, ou laissez le champ vide.</translation>
    </message>
    <message>
        <source>{path} is not a folder. Choose another folder, or leave the field empty.</source>
        <translation>{path} n'est pas un dossier. Choisissez un autre dossier, ou laissez le champ vide.</translation>
    </message>
    <message>
        <source>The setting {key} is {text}, which is not a number. The setting is ignored.</source>
        <translation>Le réglage {key} vaut {text}, qui n'est pas un nombre. Le réglage est ignoré.</translation>
    </message>
    <message>
        <source>Fields of {layer} are renamed in the results: {renamed}</source>
        <translation>Des champs de {layer} sont renommés dans les résultats : {renamed}</translation>
    </message>
    <message>
        <source>{layer} has a field {field}. If you want to use it, choose it as {label}.</source>
        <translation>{layer} a un champ {field}. Si vous voulez l'utiliser, choisissez-le comme {label}.</translation>
    </message>
    <message>
        <source>Stopped as requested. The best model so far is in {files}</source>
        <translation>Arrêté comme demandé. Le meilleur modèle jusqu'ici est dans {files}</translation>
    </message>
</context>
</TS>
